// Images, audio and other binary content.

import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { SafeText } from "../text/safe-text";
import { bytes } from "../text/units";
import { visible } from "../text/visible";
import { decode, decodedBytes, fileName, pictureUrl } from "./media";
import { saveFile } from "../text/copy";

type BinaryProps = { data: string; mimeType: string; name?: string };

/** Binary content: shown or played if possible, with a button to save it. */
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
  if (isBroken) return <p class="dim">This image can't be displayed: its data is corrupt or truncated.</p>;
  return <img class="picture" src={url} alt={`Image: ${visible(name).slice(0, 100)}`} onError={() => setBroken(true)} />;
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
  if (isBroken) return <p class="dim">This audio can't be played here. Save it to listen to it.</p>;
  return url === null ? <></> : <audio controls src={url} onError={() => setBroken(true)} />;
}

function SaveButton({ data, mimeType }: BinaryProps): JSX.Element {
  const save = (): void => {
    const content = decode(data);
    if (content === null) return;
    // A neutral type, so that no browser runs the saved content.
    saveFile(fileName(mimeType), new Blob([content], { type: "application/octet-stream" }));
  };
  return (
    <button type="button" class="button" onClick={save}>
      Save
    </button>
  );
}
