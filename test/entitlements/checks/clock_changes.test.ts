import { beforeAll, expect, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import { dice, pick } from "../../support/dice.ts";
import { FUZZ_SEED, TESTS_ALL } from "../../support/properties.ts";
import { type LimitedCompany, MONTHLY, useLimits } from "../fixtures.ts";

// Limits and reservations where the clock changes, and where the company moves to another zone. What is expected is found
// by looking at the date on the wall, quarter of an hour by quarter of an hour, with Intl and without src.

const limits = useLimits();
const QUARTER_MS = 900_000;
/** How far the clock goes on. */
const STEPS = [QUARTER_MS, 2 * QUARTER_MS, 3_599_999];
const START = "2026-01-01T00:00:00Z";

/** What a clock on the wall shows: date and hour, and how far it is from UTC. */
function wallAt(ms: number, timezone: string): { day: string; hour: string } {
  const parts = new Intl.DateTimeFormat("en-GB", {
    timeZone: timezone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    timeZoneName: "longOffset",
  }).formatToParts(ms);
  const of = (type: string) => parts.find((part) => part.type === type)?.value ?? "";
  const day = `${of("year")}-${of("month")}-${of("day")}`;
  return { day, hour: `${day} ${of("hour")} ${of("timeZoneName")}` };
}

/** What instants of one window have in common. */
const NAMES: Record<string, (ms: number, timezone: string) => string> = {
  hour: (ms, timezone) => wallAt(ms, timezone).hour,
  day: (ms, timezone) => wallAt(ms, timezone).day,
  week(ms, timezone) {
    const day = new Date(`${wallAt(ms, timezone).day}T00:00:00Z`);
    day.setUTCDate(day.getUTCDate() - ((day.getUTCDay() + 6) % 7));
    return day.toISOString().slice(0, 10);
  },
};

/** The first quarter of an hour after `ms` that is of another window. */
function endOf(window: string, ms: number, timezone: string): number {
  const nameAt = NAMES[window] ?? String;
  const name = nameAt(ms, timezone);
  let end = Math.floor(ms / QUARTER_MS) * QUARTER_MS + QUARTER_MS;
  while (nameAt(end, timezone) === name) end += QUARTER_MS;
  return end;
}

/** A company's limits of an hour, a day and a week, with what was sent and is held. */
class Life {
  readonly #events: { ms: number; usage: number }[] = [];
  readonly #holds = new Map<string, { units: number; ends_ms: number }>();
  readonly company: LimitedCompany;
  timezone: string;
  now = 0;
  #external = "";
  #id = 0;

  constructor(company: LimitedCompany, timezone: string) {
    this.company = company;
    this.timezone = timezone;
  }

  async begin(): Promise<void> {
    const windows = Object.keys(NAMES).map((window) => ({ ...MONTHLY, limit: "100000", window }));
    const { id, external } = await this.company.entitle(...windows);
    this.#id = id;
    this.#external = external;
  }

  set(ms: number): void {
    this.now = ms;
    limits.clock.set(new Date(ms).toISOString());
  }

  async send(usage: number, ms: number, id: string = crypto.randomUUID()): Promise<void> {
    const { status } = await this.company.send(this.#external, { id, usage, timestamp: ms });
    expect(status).toBe(201);
    this.#events.push({ ms, usage });
    this.#holds.delete(id);
  }

  async reserve(units: number, reserve_s: number): Promise<void> {
    const { body } = await this.company.check(this.#external, { units, reserve_s });
    this.#holds.set(body.data.reservation.id, { units, ends_ms: this.now + reserve_s * 1_000 });
  }

  /** Sends less than was held, as of a moment before. */
  async settleOne(ms: number): Promise<void> {
    const [id] = this.#holds.keys();
    if (id !== undefined) await this.send(1, ms, id);
  }

  async move(timezone: string): Promise<void> {
    const { name, currency } = (await this.company.api("GET", "/company")).body.data;
    const moved = await this.company.api("PUT", "/company", { name, currency, timezone });
    expect(moved.status).toBe(200);
    this.timezone = timezone;
  }

  /** Holds every limit to what the wall says. */
  async look(): Promise<void> {
    // Totals of windows that were new a moment ago are counted by now.
    await this.company.check(this.#external);
    const listed = (await this.company.api("GET", `/subscriptions/${this.#id}/entitlements`)).body.data;
    const held = [...this.#holds.values()].filter(({ ends_ms }) => ends_ms > this.now);
    const reserved = held.reduce((all, { units }) => all + units, 0);
    const expected = Object.entries(NAMES).map(([window, nameAt]) => {
      const name = nameAt(this.now, this.timezone);
      const inside = this.#events.filter(({ ms }) => nameAt(ms, this.timezone) === name);
      const used = inside.reduce((all, { usage }) => all + usage, 0);
      const resets_at = new Date(endOf(window, this.now, this.timezone)).toISOString();
      return { window, used: String(used), reserved: String(reserved), certain: true, resets_at };
    });
    const at = `${new Date(this.now).toISOString()} in ${this.timezone}`;
    const found = listed.map(({ window, used, reserved: units, certain, resets_at }: Json) => ({
      window,
      used,
      reserved: units,
      certain,
      resets_at,
    }));
    expect([at, found]).toEqual([at, expected]);
  }
}

/** Zones, and a moment shortly before their clock changes; the third has half an hour of summer. */
const CHANGES = (
  [
    ["Europe/Berlin", "2026-03-29T01:00:00Z"],
    ["Europe/Berlin", "2026-10-25T01:00:00Z"],
    ["Australia/Lord_Howe", "2026-04-04T15:00:00Z"],
    ["America/St_Johns", "2026-11-01T04:30:00Z"],
    ["Africa/Casablanca", "2026-02-15T02:00:00Z"],
  ] as const
).slice(0, TESTS_ALL ? 5 : 3);

const companies: LimitedCompany[] = [];
beforeAll(async () => {
  limits.clock.set("2026-02-01T00:00:00Z");
  for (const [timezone] of CHANGES) companies.push(await limits.addLimited({ timezone }));
});

test.each(CHANGES.map(([timezone, around], i) => [timezone, around, i] as const))(
  "in %s around %s windows are those on the wall, also held, late and after a move",
  async (timezone, around, i) => {
    const company = companies[i];
    if (company === undefined) throw new Error("no company");
    const roll = dice(FUZZ_SEED + i);
    const life = new Life(company, timezone);
    const change_ms = Date.parse(around);
    life.set(change_ms - 4 * 3_600_000);
    await life.begin();
    for (let step = 0; step < 26; step++) {
      const ms = life.now;
      await life.send(1 + roll(9), ms);
      await life.send(
        1 + roll(9),
        Math.max(ms - pick(roll, [1, 1_200_000, 1_800_000, 5_400_000, 90_000_000]), Date.parse(START)),
      );
      if (roll(2) === 0) await life.reserve(1 + roll(5), pick(roll, [60, 3_600, 40_000]));
      if (roll(3) === 0) await life.settleOne(ms - pick(roll, [0, 3_600_000]));
      await life.look();
      // Where the wall has another date at once, and another zone's clock changes too.
      if (step === 13)
        await life.move(pick(roll, ["Pacific/Auckland", "America/New_York", "Asia/Kathmandu"]));
      if (step === 19) await life.move(timezone);
      if (step === 13 || step === 19) await life.look();
      const next = roll(3) === 0 ? endOf("hour", ms, life.timezone) : ms + pick(roll, STEPS);
      // Not past the change: the pieces of an hour around it are short.
      if (ms < change_ms) life.set(Math.min(next, change_ms));
      else life.set(ms === change_ms ? ms + QUARTER_MS : next);
    }
  },
);
