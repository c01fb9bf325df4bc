// The visible time range: zooming and panning it within the whole.

export type Window = { fromUs: number; toUs: number };

/** The narrowest range to zoom to. */
export const NARROWEST_US = 50;

export function lengthOf({ fromUs, toUs }: Window): number {
  return Math.max(1, toUs - fromUs);
}

/** Clamps a window to the whole range and to the narrowest width. */
export function within(wanted: Window, whole: Window): Window {
  const length = Math.min(lengthOf(whole), Math.max(NARROWEST_US, wanted.toUs - wanted.fromUs));
  const fromUs = Math.min(Math.max(whole.fromUs, wanted.fromUs), whole.toUs - length);
  return { fromUs: Math.round(fromUs), toUs: Math.round(fromUs + length) };
}

/** A factor below 1 zooms in, above 1 out; `atUs` keeps its position. */
export function zoom(seen: Window, factor: number, atUs: number, whole: Window): Window {
  const length = Math.min(lengthOf(whole), Math.max(NARROWEST_US, lengthOf(seen) * factor));
  const part = (atUs - seen.fromUs) / lengthOf(seen);
  const fromUs = atUs - part * length;
  return within({ fromUs, toUs: fromUs + length }, whole);
}

export function move(seen: Window, byUs: number, whole: Window): Window {
  return within({ fromUs: seen.fromUs + byUs, toUs: seen.toUs + byUs }, whole);
}

export function isWhole(seen: Window, whole: Window): boolean {
  return seen.fromUs <= whole.fromUs && seen.toUs >= whole.toUs;
}

/** At most `most` round times of a window, labeled with the offset from the start. */
export function ticks(seen: Window, beginUs: number, most: number): { us: number; text: string }[] {
  const step = niceStep(lengthOf(seen) / Math.max(1, most));
  const found: { us: number; text: string }[] = [];
  const first = Math.ceil((seen.fromUs - beginUs) / step);
  for (let n = first; beginUs + n * step <= seen.toUs; n++) found.push({ us: beginUs + n * step, text: offset(n * step, step) });
  return found;
}

const SECOND = 1e6;
const LONG_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400].map((s) => s * SECOND);

function niceStep(least: number): number {
  if (least > SECOND / 2) {
    const long = LONG_STEPS.find((step) => step >= least);
    return long ?? Math.ceil(least / (86_400 * SECOND)) * 86_400 * SECOND;
  }
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10);
}

function offset(us: number, step: number): string {
  const seconds = us / SECOND;
  if (step >= 60 * SECOND || Math.abs(seconds) >= 120) return clockOf(seconds, step);
  if (step >= SECOND) return `${Math.round(seconds)}s`;
  const decimals = Math.min(6, Math.max(0, Math.ceil(-Math.log10(step / SECOND) - 1e-9)));
  if (Math.abs(seconds) < 1 && step < SECOND / 10) return `${(us / 1000).toFixed(Math.max(0, decimals - 3))}ms`;
  return `${seconds.toFixed(decimals)}s`;
}

function clockOf(seconds: number, step: number): string {
  const whole = Math.floor(seconds + 1e-9);
  const two = (n: number): string => String(n).padStart(2, "0");
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  const decimals = Math.min(6, Math.max(0, Math.ceil(-Math.log10(step / SECOND) - 1e-9)));
  const rest = decimals > 0 ? (seconds - whole).toFixed(decimals).slice(1) : "";
  const tail = `${two(minutes)}:${two(whole % 60)}${rest}`;
  return hours > 0 ? `${hours}:${tail}` : tail.replace(/^0(?=\d:)/, "");
}
