import { useState } from "preact/hooks";
import { number } from "../../../src/console/text/number.ts";
import { Bars, Gauge, Sparkline } from "../../../src/console/ui/bars.tsx";
import { Chart } from "../../../src/console/ui/chart.tsx";
import type { Series } from "../../../src/console/ui/chart_picture.tsx";
import { Change, Short } from "../../../src/console/ui/number.tsx";
import { Figure, Section } from "../../../src/console/ui/page.tsx";

const DAY_MS = 86_400_000;
const STARTS = Array.from({ length: 30 }, (_, day) => 1_793_491_200_000 + day * DAY_MS);
const wave = (size: number, by: number) =>
  STARTS.map((_, day) => Math.round(size * (2 + Math.sin(day / by))));
const THIS: readonly Series[] = [
  { name: "This month", values: wave(1_200, 4) },
  { name: "The month before", values: wave(1_000, 5), is_ghost: true },
];
const STACK: readonly Series[] = [
  { name: "Acme", values: wave(900, 3) },
  { name: "Globex", values: wave(500, 6) },
  { name: "Other", values: wave(200, 9), colour: 8 },
];
const nameDay = (bucket: number) => `Day ${bucket + 1}`;
const nameTick = (at_ms: number) => `${Math.round((at_ms - (STARTS[0] ?? 0)) / DAY_MS) + 1}`;
const KINDS = ["line", "bar", "stacked"] as const;

export function Pictures() {
  const [zoom, setZoom] = useState("");
  return (
    <Section title="Pictures">
      <div class="figures-row">
        <Figure
          label="Units today"
          value={<Short of={1_204_500} />}
          note={<Change now={112} before={100} since="than last Friday" good="up" />}
          href="/console/kit"
        />
        <Figure label="Failed debits" value={3} note="of 120" title="since midnight" />
      </div>
      {KINDS.map((kind) => (
        <Chart
          key={kind}
          kind={kind}
          starts={STARTS}
          series={kind === "stacked" ? STACK : THIS}
          sentence={`A chart of kind ${kind}: 61,000 units, at most 3,600 on day 7.`}
          nameBucket={nameDay}
          nameTick={nameTick}
          nameValue={(value) => `${number(value)} units`}
          partial_from={29}
          {...(kind === "bar" && { unread_before: 4 })}
          onZoom={(from, to) => setZoom(`${nameDay(from)} to ${nameDay(to)}`)}
        />
      ))}
      <p role="status" data-zoom>
        {zoom}
      </p>
      <Bars
        label="Top clients"
        of={[
          { key: 1, name: "Acme", size: 900, value: "MYR 900.00" },
          { key: 2, name: "Globex", size: 450, value: "MYR 450.00" },
          { key: 3, name: "Initech", size: -90, value: "-MYR 90.00" },
          { key: 4, name: "Umbrella", size: 80, scale: "USD", value: "USD 80.00" },
        ]}
      />
      <Gauge used={85} of={100} label="85 of 100 credits" />
      <p>
        <Sparkline points={[1, 4, 2, 8, 5, 9]} label="Rising over six months" />
      </p>
    </Section>
  );
}
