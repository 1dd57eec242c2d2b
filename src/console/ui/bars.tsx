import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export interface Bar {
  key: string | number;
  name: ComponentChildren;
  /** For its length only. */
  size: number;
  /** Lengths compare with those of the same scale, such as a currency. */
  scale?: string;
  /** What is shown, as the service said it. */
  value: ComponentChildren;
}

/** A ranking: names, bars and values. */
export function Bars({ label, of }: { label: string; of: readonly Bar[] }) {
  const largest = new Map<string | undefined, number>();
  for (const { size, scale } of of) largest.set(scale, Math.max(largest.get(scale) ?? 0, Math.abs(size)));
  return (
    <table class="bars" aria-label={label}>
      <tbody>
        {of.map(({ key, name, size, scale, value }) => (
          <tr key={key}>
            <th scope="row">{name}</th>
            <td aria-hidden="true">
              <Length share={Math.abs(size) / (largest.get(scale) || 1)} is_negative={size < 0} />
            </td>
            <td class="figure-cell">{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A bar of a share of its place. Its width is set by script: the policy allows no style in markup. */
export function Length({ share, is_negative = false }: { share: number; is_negative?: boolean }) {
  const bar = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (bar.current) bar.current.style.width = `${Math.min(1, share) * 100}%`;
  }, [share]);
  return <div ref={bar} class={`bar${is_negative ? " negative" : ""}`} />;
}

/** How much of something is used, in words for those who don't see it. */
export function Gauge({ used, of, label }: { used: number; of: number; label: string }) {
  const share = of === 0 ? 0 : used / of;
  const tone = share >= 1 ? "bad" : share >= 0.8 ? "warn" : "good";
  return (
    <div
      class={`gauge ${tone}`}
      role="meter"
      aria-valuenow={Math.min(used, of)}
      aria-valuemin={0}
      aria-valuemax={of}
      aria-valuetext={label}
      aria-label={label}
    >
      <Length share={share} />
    </div>
  );
}

/** A line of a few points, without axes: how something went. */
export function Sparkline({ points, label }: { points: readonly number[]; label: string }) {
  const [width, height] = [80, 20];
  const largest = Math.max(...points, 0) || 1;
  const step = points.length > 1 ? width / (points.length - 1) : 0;
  const line = points.map(
    (point, i) =>
      `${i === 0 ? "M" : "L"}${(i * step).toFixed(1)} ${(height - 1 - (point / largest) * (height - 2)).toFixed(1)}`,
  );
  return (
    <svg
      class="sparkline"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={label}
    >
      <path d={line.join("")} />
    </svg>
  );
}
