// Numbers and times as the page writes them.

const counts = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export function formatCount(count: number): string {
  return counts.format(count);
}

export function formatPercent(part: number, whole: number): string {
  if (whole <= 0) return "–";
  const percent = (100 * part) / whole;
  if (part <= 0) return "0 %";
  if (percent < 0.01) return "<0.01 %";
  // Never round up to "everything", nor down to "nothing".
  if (percent < 100 && percent > 99.94) return `${(Math.floor(percent * 100) / 100).toFixed(2)} %`;
  return `${percent.toFixed(percent < 1 ? 2 : 1)} %`;
}

export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59_500) return `${Number((ms / 1000).toFixed(ms < 9950 ? 1 : 0))} s`;
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const rest = seconds % 60;
  if (minutes < 60) return rest ? `${minutes} min ${rest} s` : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
}

// Three digits at least, in the largest unit that has one before the point.
export function formatNanoseconds(ns: number): string {
  if (ns >= 59_500_000_000) return formatDuration(ns / 1e6);
  const digits = (value: number) => (value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3))));
  if (ns >= 999_500_000) return `${digits(ns / 1e9)} s`;
  if (ns >= 999_500) return `${digits(ns / 1e6)} ms`;
  return ns >= 1000 ? `${digits(ns / 1000)} µs` : `${Math.round(ns)} ns`;
}

export function formatClock(ms: number, withSeconds = true): string {
  const two = (n: number) => String(n).padStart(2, "0");
  const time = new Date(ms);
  const minutes = `${two(time.getHours())}:${two(time.getMinutes())}`;
  return withSeconds ? `${minutes}:${two(time.getSeconds())}` : minutes;
}

export function formatDate(ms: number): string {
  const time = new Date(ms);
  const two = (n: number) => String(n).padStart(2, "0");
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
}
