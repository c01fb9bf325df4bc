// Counts over time, in the height of a line of text.

import type { JSX } from "preact";

const WIDTH = 88;
const HEIGHT = 18;

export function Sparkline({ values, label }: { values: readonly number[]; label: string }): JSX.Element {
  const max = Math.max(1, ...values);
  const width = WIDTH / Math.max(1, values.length);
  return (
    <svg class="sparkline" width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      <line class="sparkline-base" x1="0" y1={HEIGHT - 0.5} x2={WIDTH} y2={HEIGHT - 0.5} />
      {values.map((value, index) => {
        // A single event must stay visible next to thousands.
        const height = value === 0 ? 0 : Math.max(2, (value / max) * (HEIGHT - 1));
        if (height === 0) return null;
        return <rect key={index} x={index * width} y={HEIGHT - height} width={Math.max(1, width - 0.6)} height={height} />;
      })}
    </svg>
  );
}
