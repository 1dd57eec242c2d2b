import { beforeAll, expect, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import { FLAT } from "../../billing/fixtures.ts";
import { type Dice, dice, pick } from "../../support/dice.ts";
import { propertyCases } from "../../support/properties.ts";
import { type LimitedCompany, useLimits } from "../fixtures.ts";
import {
  type Asked,
  expectedAnswer,
  limitsOf,
  type ModelLimit,
  type ModelMeter,
  type ModelSubscription,
  plain,
  usesOf,
  windowAt,
} from "./check_model.ts";
import { amount, CODES, METERS, onWire, someLimits, WINDOWS } from "./random_plans.ts";

// Random plans and histories over HTTP; every answer of a check is the model's.

const BASE = Date.parse("2026-03-28T22:00:00Z");
const START = Date.parse("2026-01-01T00:00:00Z");
/** Asia/Kathmandu, whose clock never changes. */
const OFFSET_MS = 20_700_000;
const STEPS = 30;
/** Of one company, so that its requests stay under their limit. */
const CASES_OF_COMPANY = 10;

const MODELS = ["large", "small"];

const limits = useLimits();

async function addCompany(): Promise<LimitedCompany> {
  limits.clock.set(new Date(BASE).toISOString());
  const company = await limits.addLimited({ timezone: "Asia/Kathmandu" });
  for (const [code, { aggregation, reads, kind, carry_over }] of Object.entries(METERS)) {
    const meter = {
      code: `m_${code}`,
      name: code,
      aggregation,
      ...(aggregation === "count"
        ? {}
        : { value: [{ key: reads === undefined ? "usage" : `metadata:${reads}` }] }),
      ...(kind === undefined ? {} : { filters: [{ key: "kind", op: "in", values: [kind] }] }),
      ...(carry_over === undefined ? {} : { carry_over }),
      group_keys: ["model"],
    };
    const meter_id = (await company.api("POST", "/meters", meter)).body.data.id;
    const feature = { code, name: code, kind: "limit", meter_id };
    const made = await company.api("POST", "/features", feature);
    expect([made.status, made.body.details]).toEqual([201, undefined]);
  }
  return company;
}

/** A subscription of the service with its model. */
class History {
  readonly #roll: Dice;
  readonly #company: LimitedCompany;
  readonly #features: string[];
  readonly #model: ModelSubscription;
  #now = BASE;
  #id = 0;
  #external = "";
  #last: { id: string; timestamp: number; usage: string; metadata: object } | undefined;

  constructor(roll: Dice, company: LimitedCompany) {
    this.#roll = roll;
    this.#company = company;
    this.#features = [pick(roll, CODES), pick(roll, CODES), pick(roll, CODES)];
    this.#model = {
      start_ms: START,
      anchor_day: pick(roll, [1, 15, 29, 31]),
      offset_ms: OFFSET_MS,
      ended: false,
      plan: this.#plan(),
      own: new Map(),
      bookings: [],
      events: new Map(),
      holds: new Map(),
    };
  }

  /** Limits of some of the features. */
  #plan(): ModelLimit[] {
    const granted = new Set(this.#features.filter(() => this.#roll(4) > 0));
    return [...granted].flatMap((feature) => someLimits(this.#roll, feature));
  }

  async #call(method: "POST" | "PUT" | "DELETE", path: string, status: number, body?: object): Promise<Json> {
    const answer = await this.#company.api(method, path, body);
    expect([method, path, answer.status, answer.body.error]).toEqual([method, path, status, undefined]);
    return answer.body.data;
  }

  async run(): Promise<void> {
    limits.clock.set(new Date(this.#now).toISOString());
    const { plan, anchor_day } = this.#model;
    const model_id = await this.#company.addModel({ ...FLAT, entitlements: plan.map(onWire) });
    this.#external = `history ${crypto.randomUUID()}`;
    this.#id = await this.#company.subscribe(model_id, {
      external_subscription_id: this.#external,
      started_at: new Date(START).toISOString(),
      billing_anchor_day: anchor_day,
    });
    for (let step = 0; step < STEPS; step++) await this.#step();
    if (this.#roll(3) === 0) {
      await this.#call("POST", `/subscriptions/${this.#id}/cancel`, 200, { at: "now" });
      this.#model.ended = true;
    }
    await this.#check();
  }

  async #step(): Promise<void> {
    const kind = this.#roll(20);
    if (kind < 3) return this.#pass();
    if (kind < 8) return this.#send();
    if (kind < 12) return this.#check();
    if (kind < 15) return this.#check(1 + this.#roll(7_200));
    if (kind < 16) return this.#settle();
    if (kind < 17) return this.#free();
    if (kind < 18) return this.#setOwn();
    if (kind < 19) return this.#book();
    return this.#roll(2) === 0 ? this.#changePlan() : this.#list();
  }

  /** Lets time pass: to the moment at which something ends, or by some time. */
  async #pass(): Promise<void> {
    const { holds, bookings } = this.#model;
    const ends = [
      ...[...holds.values()].map(({ ends_ms }) => ends_ms),
      ...bookings.flatMap(({ until_ms }) => until_ms ?? []),
      ...WINDOWS.slice(0, 4).map((window) => windowAt(window, this.#now, this.#model)[1]),
    ].filter((ms) => ms > this.#now);
    const by = pick(this.#roll, [1, 59_000, 1_800_000, 40_000_000, 260_000_000]);
    this.#now = this.#roll(2) === 0 ? Math.min(...ends) : this.#now + by;
    limits.clock.set(new Date(this.#now).toISOString());
  }

  /** Sends an event, mostly of now, under an id of its own or a given one; or the last one again. */
  async #send(id: string = crypto.randomUUID()): Promise<void> {
    const roll = this.#roll;
    const late = pick(roll, [0, 0, 0, 1_000, 3_600_000, 86_400_000, 700_000_000, 2_600_000_000]);
    const usage = amount(roll, 20) * (roll(5) === 0 ? -1n : 1n);
    const ms = this.#now - late;
    const metadata = {
      ...(roll(4) > 0 ? { model: pick(roll, MODELS) } : {}),
      ...(roll(4) > 0 ? { tokens: roll(20) } : {}),
      kind: pick(roll, ["chat", "image"]),
      user: `user ${roll(6)}`,
    };
    const sent = { id, timestamp: ms, usage: plain(usage), metadata };
    const body = (roll(8) === 0 ? this.#last : undefined) ?? sent;
    const is_repeat = body !== sent;
    const stored = await this.#company.send(this.#external, { ...body, usage: Number(body.usage) });
    expect([stored.status, stored.body.data]).toEqual([
      201,
      { accepted: is_repeat ? 0 : 1, duplicates: is_repeat ? 1 : 0 },
    ]);
    if (is_repeat) return;
    this.#last = sent;
    this.#model.events.set(id, { id, ms, usage, metadata });
    this.#model.holds.delete(id);
  }

  async #check(reserve_s?: number): Promise<void> {
    const feature = pick(this.#roll, this.#features);
    const meter = METERS[feature];
    if (meter === undefined) throw new Error(feature);
    const group = { model: pick(this.#roll, MODELS) };
    const asked = { feature, units: this.#units(meter, { feature, group }), group };
    const expected = expectedAnswer(this.#model, meter, asked, this.#now);
    const units = plain(asked.units);
    const body = { ...asked, units, ...(reserve_s === undefined ? {} : { reserve_s }) };
    const { status, body: found } = await this.#company.check(this.#external, body);
    const { reservation, ...answer } = found.data ?? {};
    const is_held = reserve_s !== undefined && expected.allowed;
    const reserved = is_held ? this.#withHeld(expected, asked.units) : expected;
    expect([status, answer]).toEqual([200, reserved]);
    expect(reservation === null).toBe(!is_held);
    if (!is_held) return;
    const ends_ms = this.#now + reserve_s * 1_000;
    expect(reservation).toMatchObject({ units, expires_at: new Date(ends_ms).toISOString() });
    this.#model.holds.set(reservation.id, { ...asked, id: reservation.id, ends_ms });
  }

  /** Some units; or exactly what a limit has left, or the least more. */
  #units(meter: ModelMeter, asked: Pick<Asked, "feature" | "group">): bigint {
    const left = usesOf(this.#model, meter, asked, this.#now).flatMap((use) => use.left ?? []);
    const some = amount(this.#roll, 30);
    const exact = left.length === 0 || this.#roll(2) === 0 ? some : pick(this.#roll, left);
    return exact < 0n ? some : exact + BigInt(this.#roll(2));
  }

  /** The answer after its own units are held. */
  #withHeld(answer: ReturnType<typeof expectedAnswer>, units: bigint) {
    if (answer.reserved === null || answer.used === null) return answer;
    const sum = (text: string) => BigInt(Math.round(Number(text) * 1e6));
    const reserved = sum(answer.reserved) + units;
    if (answer.limit === null) return { ...answer, reserved: plain(reserved) };
    const left = sum(answer.limit) - sum(answer.used) - reserved;
    return { ...answer, reserved: plain(reserved), remaining: plain(left > 0n ? left : 0n) };
  }

  /** Sends the event of a reservation, which may have ended. */
  async #settle(): Promise<void> {
    const ids = [...this.#model.holds.keys()];
    if (ids.length === 0) return this.#check(60);
    this.#last = undefined;
    await this.#send(pick(this.#roll, ids));
  }

  async #free(): Promise<void> {
    const [hold] = this.#model.holds.values();
    if (hold === undefined) return this.#check(60);
    const is_held = hold.ends_ms > this.#now;
    const { status } = await this.#company.api("DELETE", `/usage/reservations/${hold.id}`);
    expect(status).toBe(is_held ? 200 : 404);
    if (is_held) this.#model.holds.delete(hold.id);
  }

  async #setOwn(): Promise<void> {
    const feature = pick(this.#roll, this.#features);
    const path = `/subscriptions/${this.#id}/entitlements/${feature}`;
    if (this.#model.own.delete(feature)) {
      await this.#call("DELETE", path, 200);
      return;
    }
    const own = someLimits(this.#roll, feature);
    await this.#call("PUT", path, 200, { entitlements: own.map(onWire) });
    this.#model.own.set(feature, own);
  }

  async #book(): Promise<void> {
    const added = someLimits(this.#roll, pick(this.#roll, this.#features));
    const charge = { type: "fixed", price: "1" };
    const code = `pack_${this.#id}_${this.#model.bookings.length}`;
    const entitlements = added.map(onWire);
    const pack = await this.#call("POST", "/add-ons", 201, {
      code,
      name: code,
      currency: "EUR",
      charge,
      entitlements,
    });
    const until_ms =
      this.#roll(2) === 0 ? null : this.#now + pick(this.#roll, [1_000, 7_200_000, 172_800_000]);
    const quantity = BigInt(1 + this.#roll(3)) * 1_000_000n;
    await this.#call("POST", `/subscriptions/${this.#id}/add-ons`, 201, {
      add_on_id: pack.id,
      quantity: plain(quantity),
      from: new Date(this.#now).toISOString(),
      ...(until_ms === null ? {} : { until: new Date(until_ms).toISOString() }),
    });
    this.#model.bookings.push({ quantity, from_ms: this.#now, until_ms, limits: added });
  }

  async #changePlan(): Promise<void> {
    this.#now += 1;
    limits.clock.set(new Date(this.#now).toISOString());
    const plan = this.#plan();
    const new_billing_model_id = await this.#company.addModel({ ...FLAT, entitlements: plan.map(onWire) });
    const effective_at = new Date(this.#now).toISOString();
    const path = `/subscriptions/${this.#id}/billing-model-changes`;
    await this.#call("POST", path, 200, { new_billing_model_id, effective_at });
    this.#model.plan = plan;
  }

  /** The list has the same use of every limit that is not per a key. */
  async #list(): Promise<void> {
    const { body } = await this.#company.api("GET", `/subscriptions/${this.#id}/entitlements`);
    const features = [...new Set(this.#features)];
    const shown = body.data.filter((row: Json) => row.per === null && row.enabled);
    for (const feature of features) {
      const meter = METERS[feature];
      if (meter === undefined) throw new Error(feature);
      const uses = usesOf(this.#model, meter, { feature, group: {} }, this.#now);
      const limited = limitsOf(this.#model, feature, this.#now);
      expect(
        shown
          .filter((row: Json) => row.feature === feature)
          .map((row: Json) => [row.window, row.limit, row.used, row.reserved]),
      ).toEqual(
        uses.flatMap(({ limit, used, reserved }, i) =>
          limited[i]?.per === null
            ? [[limited[i]?.window, limit === null ? null : plain(limit), plain(used), plain(reserved)]]
            : [],
        ),
      );
    }
  }
}

let companies: LimitedCompany[] = [];
beforeAll(async () => {
  companies = [await addCompany()];
});

test("every check of random plans and histories is answered as the model answers it", async () => {
  const { numRuns } = propertyCases(4);
  const first = Number(process.env.PROPERTY_SEED ?? 1);
  for (let seed = first; seed < first + numRuns; seed++) {
    const at = Math.floor((seed - first) / CASES_OF_COMPANY);
    const company = companies[at] ?? (await addCompany());
    companies[at] = company;
    try {
      await new History(dice(seed), company).run();
    } catch (error) {
      throw new Error(`PROPERTY_SEED=${seed}: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  }
}, 3_600_000);
