import { expect, test } from "vitest";
import { decode, decodedBytes, fileName, isBase64, pictureUrl } from "./media";

test("only pictures of four types are shown", () => {
  expect(pictureUrl("image/png", "iVBORw0=")).toBe("data:image/png;base64,iVBORw0=");
  expect(pictureUrl("IMAGE/JPEG; q=1", "AAAA")).toBe("data:image/jpeg;base64,AAAA");
  for (const type of ["image/svg+xml", "text/html", "", "image/png,x"]) expect(pictureUrl(type, "AAAA"), type).toBeNull();
  expect(pictureUrl("image/png", 'x"><script>')).toBeNull();
});

test("base64 is checked and measured", () => {
  expect(isBase64("")).toBe(false);
  expect(isBase64("AA=A")).toBe(false);
  expect(decodedBytes("AAAA")).toBe(3);
  expect(decodedBytes("AA==")).toBe(1);
  expect([...(decode("AQI=") ?? [])]).toEqual([1, 2]);
  expect(decode("%")).toBeNull();
});

test("files get a name by their type", () => {
  expect(fileName("audio/wav")).toBe("content.wav");
  expect(fileName("audio/mpeg")).toBe("content.mp3");
  expect(fileName("../../x")).toBe("content.bin");
});
