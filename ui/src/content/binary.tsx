// Pictures, sound and other binary content.

import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { SafeText } from "../text/safe-text";
import { bytes } from "../text/units";
import { visible } from "../text/visible";
import { decode, decodedBytes, fileName, pictureUrl } from "./media";
import { saveFile } from "../text/copy";

type BinaryProps = { data: string; mimeType: string; name?: string };

/** Binary content, shown if it can be, and to be saved in any case. */
export function Binary({ data, mimeType, name }: BinaryProps): JSX.Element {
  const picture = useMemo(() => pictureUrl(mimeType, data), [mimeType, data]);
  return (
    <figure class="binary">
      {picture !== null && <Picture url={picture} name={name ?? mimeType} />}
      {mimeType.toLowerCase().startsWith("audio/") && <Sound data={data} mimeType={mimeType} />}
      <figcaption>
        <SafeText text={mimeType || "unknown type"} />
        <span class="dim">{` · ${bytes(decodedBytes(data))}`}</span>
        <SaveButton data={data} mimeType={mimeType} />
      </figcaption>
    </figure>
  );
}

function Picture({ url, name }: { url: string; name: string }): JSX.Element {
  const [isBroken, setBroken] = useState(false);
  if (isBroken) return <p class="dim">This picture can't be shown: its data are broken or cut.</p>;
  return <img class="picture" src={url} alt={`Picture: ${visible(name).slice(0, 100)}`} onError={() => setBroken(true)} />;
}

function Sound({ data, mimeType }: BinaryProps): JSX.Element {
  const [url, setUrl] = useState<string | null>(null);
  const [isBroken, setBroken] = useState(false);
  useEffect(() => {
    const content = decode(data);
    const type = /^audio\/[a-z0-9.+-]+$/i.test(mimeType) ? mimeType : "audio/wav";
    const made = content === null ? null : URL.createObjectURL(new Blob([content], { type }));
    setUrl(made);
    setBroken(made === null);
    return () => (made === null ? undefined : URL.revokeObjectURL(made));
  }, [data, mimeType]);
  if (isBroken) return <p class="dim">This sound can't be played here. Save it to listen to it.</p>;
  return url === null ? <></> : <audio controls src={url} onError={() => setBroken(true)} />;
}

function SaveButton({ data, mimeType }: BinaryProps): JSX.Element {
  const save = (): void => {
    const content = decode(data);
    if (content === null) return;
    // Never saved as a type that a browser would run.
    saveFile(fileName(mimeType), new Blob([content], { type: "application/octet-stream" }));
  };
  return (
    <button type="button" class="button" onClick={save}>
      Save
    </button>
  );
}
