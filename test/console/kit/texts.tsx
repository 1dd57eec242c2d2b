import { isNegative, money, unitPrice } from "../../../src/console/text/money.ts";
import { count, number, shortNumber } from "../../../src/console/text/number.ts";
import { ago, clock, date, dateTime, month, period, utc } from "../../../src/console/text/time.ts";
import { Change, Short } from "../../../src/console/ui/number.tsx";
import { Section } from "../../../src/console/ui/page.tsx";
import { Time } from "../../../src/console/ui/timeline.tsx";

/** What the formats are tried on, by what they are for; in the zone of who is signed in. */
const texts = (): Record<string, string> => ({
  money: money("1234.5", "MYR"),
  "money without decimals": money("1234", "JPY"),
  "money beyond floats": money("900719925474099312345.67", "USD"),
  "money below zero": `${money("-0.05", "EUR")} ${isNegative("-0.05")}`,
  "unit price": unitPrice("0.000250", "MYR"),
  "whole unit price": unitPrice("3.000000", "MYR"),
  number: number("1234567.123456789012"),
  "short number": shortNumber(1_234_567),
  "small number": shortNumber(9_999),
  count: [count(0, "event"), count(1, "event"), count(1_204, "event")].join(", "),
  time: dateTime("2026-11-01T04:30:00.000Z"),
  utc: utc("2026-11-01T04:30:00.000Z"),
  date: date("2026-11-01T04:30:00.000Z"),
  clock: clock("2026-11-01T04:30:05.000Z"),
  month: month("2026-10-31T20:00:00.000Z"),
  // November of New York: it begins at 04:00 and ends at 05:00, since clocks go back on its first day.
  period: period("2026-11-01T04:00:00.000Z", "2026-12-01T05:00:00.000Z"),
  "period of an instant": period("2026-11-01T04:00:00.000Z", "2026-11-01T04:00:00.000Z"),
  ago: [ago(0, 7_200_000), ago(0, 40_000), ago(90_000_000, 0)].join(", "),
});

export function Texts() {
  return (
    <Section title="Texts">
      <dl class="facts">
        {Object.entries(texts()).map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd data-text={name}>{text}</dd>
          </div>
        ))}
      </dl>
      <p>
        <Short of="30123456" /> events, <Short of={12} /> clients, <Time at="2026-11-01T04:30:00.000Z" />{" "}
        <Time at={null} />
      </p>
      <p>
        <Change now={112} before={100} since="than last week" good="up" />,{" "}
        <Change now={88} before={100} since="than last week" good="up" />,{" "}
        <Change now={5} before={0} since="last week" />
      </p>
    </Section>
  );
}
