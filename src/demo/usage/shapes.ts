import type { Rhythm } from "../cast/clients.ts";

// How usage goes up and down: with the hour, the weekday, the season, and with the years of a company that grows.

/** Shares of Monday to Sunday. */
const WEEKDAYS: Readonly<Record<Rhythm, readonly number[]>> = {
  office: [1.05, 1.1, 1.1, 1.05, 0.95, 0.3, 0.2],
  shop: [0.85, 0.85, 0.9, 0.95, 1.15, 1.35, 1.25],
  night: [1.1, 1, 1, 1, 1, 0.8, 0.9],
};

/** Shares of January to December: the festivals of the shops, the holidays of the offices. */
const MONTHS: Readonly<Record<Rhythm, readonly number[]>> = {
  office: [0.95, 0.85, 1, 1, 1, 1, 1.05, 1, 1.05, 1.1, 1.1, 0.75],
  shop: [1.1, 1.05, 0.9, 1.1, 0.95, 0.95, 0.95, 1, 0.95, 1, 1.3, 1.4],
  night: [1, 0.95, 1, 1, 1, 1, 1, 1, 1, 1.05, 1.1, 1.15],
};

/** Shares of the hours of a day. */
const HOURS: Readonly<Record<Rhythm, readonly number[]>> = {
  office: [1, 1, 1, 1, 1, 1, 2, 6, 14, 20, 22, 20, 12, 16, 21, 20, 17, 12, 7, 5, 4, 3, 2, 1],
  shop: [6, 3, 2, 1, 1, 1, 3, 5, 7, 9, 11, 13, 15, 14, 12, 12, 13, 15, 17, 20, 22, 21, 16, 10],
  night: [18, 22, 24, 22, 18, 12, 8, 6, 5, 5, 5, 5, 5, 5, 5, 5, 6, 6, 7, 8, 9, 11, 13, 15],
};

/** How much a day has, beside a plain one, for customers of this rhythm. */
export function shareOfDay(rhythm: Rhythm, day: Temporal.PlainDate): number {
  return (
    (WEEKDAYS[rhythm][day.dayOfWeek - 1] ?? 1) * (MONTHS[rhythm][day.month - 1] ?? 1) * saleOf(rhythm, day)
  );
}

/** The days of the great sales: 9.9, 11.11 and 12.12. */
function saleOf(rhythm: Rhythm, { month, day }: Temporal.PlainDate): number {
  return rhythm === "shop" && month === day && [9, 11, 12].includes(month) ? 1.9 : 1;
}

/** Growth from the first day of the past on: fivefold in thirteen months, then ever slower. */
export function growth(days: number): number {
  const DOUBLED_AFTER = 170;
  const FAST = 400;
  return 2 ** (Math.min(days, FAST) / DOUBLED_AFTER) * (1 + Math.max(0, days - FAST) / 1_000);
}

/** How far a customer has got so many days after its start. */
export const rampUp = (age_days: number) => 1 - 0.75 * Math.exp(-age_days / 30);

/** The quarters of an hour that a thousand events of a day are in. */
export function quartersOf(rhythm: Rhythm): number[] {
  const hours = HOURS[rhythm];
  const total = hours.reduce((sum, share) => sum + share, 0);
  const quarters: number[] = [];
  let [hour, passed] = [0, 0];
  for (let i = 0; i < 1_000; i++) {
    const place = ((i + 0.5) / 1_000) * total;
    while (place > passed + (hours[hour] ?? 0)) passed += hours[hour++] ?? total;
    quarters.push(hour * 4 + Math.floor(((place - passed) / (hours[hour] ?? 1)) * 4));
  }
  return quarters;
}

/** The share of a day's events that fall into an hour. */
export function shareOfHour(rhythm: Rhythm, hour: number): number {
  const total = HOURS[rhythm].reduce((sum, share) => sum + share, 0);
  return (HOURS[rhythm][hour] ?? 0) / total;
}
