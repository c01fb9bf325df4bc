// Pictures of a page as small files: 256 colors are enough for text and bars.

import { crc32, deflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const EIGHT_BITS_OF_PALETTE = [8, 3, 0, 0, 0];

/** A picture with a palette, from one with all colors. `page` is one whose browser decodes it. */
export async function shrunk(page, picture) {
  const { width, height, colors, pixels } = await page.evaluate(reduce, picture.toString("base64"));
  const indices = Buffer.from(pixels, "base64");
  const lines = [];
  for (let row = 0; row < height; row++) lines.push(Buffer.from([0]), indices.subarray(row * width, (row + 1) * width));
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set(EIGHT_BITS_OF_PALETTE, 8);
  const data = deflateSync(Buffer.concat(lines), { level: 9 });
  return Buffer.concat([SIGNATURE, chunk("IHDR", head), chunk("PLTE", Buffer.from(colors)), chunk("IDAT", data), chunk("IEND", Buffer.alloc(0))]);
}

function chunk(name, data) {
  const named = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

/** Runs in the browser: keeps the colors that are used most, and takes the nearest of them for every other one. */
async function reduce(base64) {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const { width, height } = bitmap;
  const context = new OffscreenCanvas(width, height).getContext("2d");
  context.drawImage(bitmap, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  const colorAt = (at) => (data[at] << 16) | (data[at + 1] << 8) | data[at + 2];
  const counts = new Map();
  for (let at = 0; at < data.length; at += 4) counts.set(colorAt(at), (counts.get(colorAt(at)) ?? 0) + 1);
  const kept = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 256).map(([color]) => color);
  const parts = (color) => [color >> 16, (color >> 8) & 255, color & 255];
  const apart = (a, b) => parts(a).reduce((sum, part, n) => sum + (part - parts(b)[n]) ** 2, 0);
  const nearest = (color) => kept.reduce((best, other, n) => (apart(color, other) < apart(color, kept[best]) ? n : best), 0);
  const known = new Map(kept.map((color, n) => [color, n]));
  const indices = new Uint8Array(width * height);
  for (let n = 0; n < indices.length; n++) {
    const color = colorAt(n * 4);
    if (!known.has(color)) known.set(color, nearest(color));
    indices[n] = known.get(color);
  }
  const pixels = await new Promise((resolve) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.split(",")[1]);
    reader.readAsDataURL(new Blob([indices]));
  });
  return { width, height, colors: kept.flatMap(parts), pixels };
}
