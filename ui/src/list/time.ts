// Times in lists: only the tooltip has the date, so that the milliseconds fit.

export function timeOfDay(us: number): string {
  const then = new Date(us / 1000);
  if (Number.isNaN(then.getTime())) return "unknown";
  const two = (n: number): string => String(n).padStart(2, "0");
  const millis = String(then.getMilliseconds()).padStart(3, "0");
  return `${two(then.getHours())}:${two(then.getMinutes())}:${two(then.getSeconds())}.${millis}`;
}
