// Which binary content the page can show, and its decoded size.

const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** An image as a data URL, or null if its type is not allowed or it is not base64. Never SVG, which can contain scripts. */
export function pictureUrl(mimeType: string, data: string): string | null {
  const type = mimeType.toLowerCase().split(";")[0]?.trim() ?? "";
  if (!PICTURES.includes(type) || !isBase64(data)) return null;
  return `data:${type};base64,${data}`;
}

/** Whether a text is base64, so that nothing else can get into a data URL. */
export function isBase64(data: string): boolean {
  return data.length > 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
}

/** The decoded size of base64, in bytes. */
export function decodedBytes(data: string): number {
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return Math.max(0, Math.floor((data.length * 3) / 4) - padding);
}

/** The bytes, or null if it is not base64. */
export function decode(data: string): Uint8Array<ArrayBuffer> | null {
  try {
    const binary = atob(data);
    const bytes = new Uint8Array(binary.length);
    for (let at = 0; at < binary.length; at += 1) bytes[at] = binary.charCodeAt(at);
    return bytes;
  } catch {
    return null;
  }
}

/** A name for a file of that type. */
export function fileName(mimeType: string): string {
  const kind = /^[a-z]+\/([a-z0-9]+)/i.exec(mimeType)?.[1]?.toLowerCase() ?? "bin";
  return `content.${kind === "mpeg" ? "mp3" : kind}`;
}
