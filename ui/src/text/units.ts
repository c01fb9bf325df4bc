// Durations, sizes and times for people, in the same units as in the terminal.

/** Microseconds, to about three digits: `312µs`, `1.20ms`, `12.3s`, `2m 05s`, `3h 07m`, `2d 04h`. */
export function duration(us: number): string {
  const seconds = Math.floor(us / 1_000_000);
  if (us < 1_000) return `${Math.round(us)}µs`;
  if (us < 60_000_000) {
    const [value, unit] = us < 999_500 ? [us / 1e3, "ms"] : [us / 1e6, "s"];
    const decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return `${value.toFixed(decimals)}${unit}`;
  }
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m ${two(seconds % 60)}s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h ${two(Math.floor(seconds / 60) % 60)}m`;
  return `${Math.floor(seconds / 86_400)}d ${two(Math.floor(seconds / 3_600) % 24)}h`;
}

/** Bytes, to about three digits, in powers of 1000: `999 B`, `1.2 kB`, `34 MB`. */
export function bytes(n: number): string {
  if (n < 1000) return `${n} B`;
  const units = ["kB", "MB", "GB", "TB", "PB", "EB"];
  let value = n / 1000;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value.toFixed(value < 9.95 ? 1 : 0)} ${units[unit]}`;
}

/** A whole number with thousands separators: `12,345`. */
export function number(n: number): string {
  const digits = String(Math.trunc(n));
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A count with its noun: `1 file`, `3,000 files`. */
export function count(n: number, thing: string): string {
  return n === 1 ? `1 ${thing}` : `${number(n)} ${thing}s`;
}

/** A share from 0 to 1 as a percentage: `12%`, `0.4%`. */
export function share(part: number): string {
  const percent = part * 100;
  if (percent === 0) return "0%";
  if (percent < 0.1) return "< 0.1%";
  return `${percent.toFixed(percent < 9.95 ? 1 : 0)}%`;
}

/** How long ago, in one unit; older than a day: local day and time; older than about ten months: the date. */
export function when(thenMs: number, nowMs: number): string {
  const seconds = Math.trunc((nowMs - thenMs) / 1000);
  if (seconds >= -60 && seconds < 10) return "just now";
  if (seconds >= 10 && seconds < 60) return `${seconds} s ago`;
  if (seconds >= 60 && seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds >= 3_600 && seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ago`;
  if (seconds >= 86_400 && seconds < 26_000_000) return dayAndMinute(new Date(thenMs));
  return day(new Date(thenMs));
}

/** A local time to the millisecond, with the day if it isn't today. */
export function clock(ms: number, nowMs: number): string {
  const then = new Date(ms);
  if (Number.isNaN(then.getTime())) return "unknown";
  if (day(then) !== day(new Date(nowMs))) return `${dayAndMinute(then)}:${two(then.getSeconds())}`;
  const millis = String(then.getMilliseconds()).padStart(3, "0");
  return `${minute(then)}:${two(then.getSeconds())}.${millis}`;
}

/** A local date and time, to the minute. */
export function local(ms: number): string {
  const then = new Date(ms);
  return `${day(then)} ${minute(then)}`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

function dayAndMinute(then: Date): string {
  return `${MONTHS[then.getMonth()]} ${two(then.getDate())} ${minute(then)}`;
}

function day(then: Date): string {
  return `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())}`;
}

function minute(then: Date): string {
  return `${two(then.getHours())}:${two(then.getMinutes())}`;
}

function two(n: number): string {
  return String(n).padStart(2, "0");
}
