import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { shaped } from "../shape.ts";
import { type Manifest, ZONE } from "./company.ts";
import { centsOf, type PlainRecords, type PlainSubscription, textOfCents } from "./plain_records.ts";
import { type Plain, type Question, same } from "./question.ts";

// Money, credits and records: asked over REST, and added up from all bills, running bills and subscriptions.

const Text = Type.String();
const Whole = Type.Integer();
const Sum = Type.Object({ currency: Text, amount: Text });
const dataOf = <T extends TSchema>(shape: T) => Type.Object({ data: shape });

const Revenue = Type.Object({
  from: Text,
  to: Text,
  buckets: Type.Array(Type.Object({ from: Text, to: Text })),
  totals: Type.Array(Type.Object({ ...Sum.properties, records: Whole, amounts: Type.Array(Text) })),
  groups: Whole,
  rows: Type.Array(
    Type.Object({
      id: Type.Union([Whole, Type.Null()]),
      name: Text,
      ...Sum.properties,
      records: Whole,
      amounts: Type.Array(Text),
    }),
  ),
});
const RunningRow = Type.Object({ id: Whole, name: Text, ...Sum.properties, subscriptions: Whole });
const RunningBills = Type.Object({
  pending: Whole,
  totals: Type.Array(Type.Object({ ...Sum.properties, subscriptions: Whole })),
  groups: Whole,
  rows: Type.Array(RunningRow),
});
const Month = Type.Object({ allocated: Whole, used: Whole, remaining: Whole, overageUsed: Whole });
const Credits = Type.Object({
  data: Type.Array(Type.Object({ subscription_id: Whole, ...Month.properties, used_percent: Type.Number() })),
  meta: Type.Object({ total: Whole }),
});
const Found = dataOf(Type.Array(Type.Object({ kind: Text, id: Whole })));
const Usage = Type.Object({ from: Text, to: Text, units: Type.Number(), events: Whole });
const Overview = Type.Object({
  today: Type.Object({ so_far: Usage, same_weekday: Usage, same_weekday_whole: Usage }),
  revenue: Revenue,
  running_bills: RunningBills,
  top_clients: Type.Array(Type.Object({ id: Whole, ...Sum.properties })),
});
const ClientOverview = Type.Object({
  totals: Type.Array(Type.Object({ currency: Text, total: Text })),
  subscriptions: Type.Array(Type.Object({ id: Whole, total: Text })),
  subscriptions_total: Whole,
});
const Bill = Type.Object({ total: Text });
const Preview = Type.Object({
  subscription_id: Whole,
  bills: Type.Array(Type.Object({ before: Bill, after: Bill, difference: Text })),
});
const Quote = Type.Object({
  total: Text,
  curve: Type.Object({ points: Type.Array(Type.Object({ units: Text, total: Text })) }),
});

type PlainBill = PlainRecords["bills"][number];

const ask = (path: string, check: Question["check"], more: Partial<Question> = {}): Question => ({
  what: path,
  by: path.startsWith("/my/") ? "client" : "admin",
  method: "GET",
  path,
  scans: false,
  check,
  ...more,
});

/** Every question for money and records, with what holds its answer to them. */
export function recordQuestions(manifest: Manifest): Question[] {
  return [
    ...revenueQuestions(),
    ...(["client", "product", "subscription"] as const).map(runningQuestion),
    ...creditQuestions(),
    ...["Client 7", "7", "subscription-12", "s", "PLAN"].map((text) => searchQuestion(text)),
    overviewQuestion(),
    ask("/attention", () => {}),
    ask("/whoami", (answer) =>
      same(shaped(dataOf(Type.Object({ timezone: Text })), answer, "whoami").data.timezone, ZONE, "zone"),
    ),
    ask("/views", () => {}),
    ...previewQuestions(manifest),
    ...quoteQuestions(manifest),
    ask("/my/overview", (answer, { records }) => holdClientOverview(answer, manifest, records)),
    ask("/my/plans", (answer) =>
      same(shaped(dataOf(Type.Array(Type.Unknown())), answer, "plans").data.length, 1, "plans"),
    ),
    searchQuestion("subscription-100", "/my/search"),
  ];
}

const REVENUE_KEYS = {
  client: (_: PlainBill, { client_id }: PlainSubscription) => client_id,
  product: (_: PlainBill, { product_id }: PlainSubscription) => product_id,
  billing_model: ({ billing_model_id }: PlainBill) => billing_model_id,
  subscription: ({ subscription_id }: PlainBill) => subscription_id,
  kind: ({ kind }: PlainBill) => kind,
};
type RevenueKey = keyof typeof REVENUE_KEYS;
const isRevenueKey = (text: string): text is RevenueKey => Object.hasOwn(REVENUE_KEYS, text);

function revenueQuestions(): Question[] {
  const of_groups = Object.keys(REVENUE_KEYS)
    .filter(isRevenueKey)
    .map((group_by) =>
      ask(`/revenue?group_by=${group_by}&limit=200`, (answer, { records }) =>
        holdRevenue(shaped(dataOf(Revenue), answer, "revenue").data, records, group_by),
      ),
    );
  const by_day = ask("/revenue?relative=last_90d&interval=day", (answer, { records }) =>
    holdRevenue(shaped(dataOf(Revenue), answer, "revenue").data, records, undefined),
  );
  return [...of_groups, by_day];
}

function holdRevenue(
  { from, to, buckets, totals, groups, rows }: Static<typeof Revenue>,
  { bills, subscriptions }: PlainRecords,
  group_by: RevenueKey | undefined,
): void {
  const edges = [...buckets.map((bucket) => bucket.from), to];
  same(edges[0], from, "the first bucket");
  for (const edge of edges.slice(1, -1))
    same(Temporal.Instant.from(edge).toZonedDateTimeISO(ZONE).hour, 0, "the hour at which a bucket begins");
  const within = bills.filter(({ billingStartAt }) => billingStartAt >= from && billingStartAt < to);
  const sumsOf = (some: readonly PlainBill[]) => ({
    amount: textOfCents(centsOf(some.map(({ totalCharges }) => totalCharges))),
    records: some.length,
    amounts: edges
      .slice(0, -1)
      .map((start, i) =>
        textOfCents(
          centsOf(
            some.flatMap((bill) =>
              bill.billingStartAt >= start && bill.billingStartAt < (edges[i + 1] ?? to)
                ? [bill.totalCharges]
                : [],
            ),
          ),
        ),
      ),
  });
  const by_currency = Map.groupBy(within, ({ currency }) => currency);
  const expected = [...by_currency].toSorted(([a], [b]) => (a < b ? -1 : 1));
  same(
    totals,
    expected.map(([currency, some]) => ({ currency, ...sumsOf(some) })),
    "the totals",
  );
  if (group_by === undefined) return;
  const keyOf = (bill: PlainBill) => {
    const subscription = subscriptions.get(bill.subscription_id);
    return subscription === undefined ? "" : REVENUE_KEYS[group_by](bill, subscription);
  };
  const by_group = Map.groupBy(within, (bill) => `${bill.currency} ${keyOf(bill)}`);
  same(groups, by_group.size, "the number of groups");
  for (const { id, name, currency, ...sums } of rows)
    same(
      sums,
      sumsOf(by_group.get(`${currency} ${id ?? name}`) ?? []),
      `the sums of ${group_by} ${id ?? name}`,
    );
  same(rows.length, Math.min(200, groups), "the number of rows");
  for (const [i, row] of rows.entries()) {
    const next = rows[i + 1];
    if (next?.currency !== row.currency) continue;
    if (centsOf([next.amount]) > centsOf([row.amount]))
      throw new Error(`Wrong: ${group_by} ${next.id} comes after ${row.id}`);
  }
}

function runningQuestion(group_by: "client" | "product" | "subscription"): Question {
  return ask(`/running-bills?group_by=${group_by}&limit=200`, (answer, { records }) =>
    holdRunning(shaped(dataOf(RunningBills), answer, "running bills").data, records, group_by),
  );
}

function holdRunning(
  { pending, totals, groups, rows }: Static<typeof RunningBills>,
  { running, subscriptions }: PlainRecords,
  group_by: "client" | "product" | "subscription",
): void {
  same(pending, 0, "pending");
  const all = [...running].map(([id, bill]) => ({ ...bill, subscription: subscriptions.get(id) }));
  const sumsOf = (some: typeof all) => ({
    amount: textOfCents(centsOf(some.map(({ total }) => total))),
    subscriptions: some.length,
  });
  const by_currency = [...Map.groupBy(all, ({ currency }) => currency)].toSorted(([a], [b]) =>
    a < b ? -1 : 1,
  );
  same(
    totals,
    by_currency.map(([currency, some]) => ({ currency, ...sumsOf(some) })),
    "running totals",
  );
  const keyOf = ({ currency, subscription }: (typeof all)[number]) =>
    `${currency} ${group_by === "subscription" ? subscription?.id : subscription?.[`${group_by}_id`]}`;
  const by_group = Map.groupBy(all, keyOf);
  same(groups, by_group.size, "the number of groups");
  for (const { id, currency, name: _, ...sums } of rows)
    same(sums, sumsOf(by_group.get(`${currency} ${id}`) ?? []), `running ${group_by} ${id}`);
}

function creditQuestions(): Question[] {
  const hold = (answer: unknown, { records }: Plain, least: number) => {
    const { data, meta } = shaped(Credits, answer, "credits");
    const percentOf = ({ used, allocated }: { used: number; allocated: number }) =>
      allocated === 0 ? 0 : Math.floor((used * 1_000) / allocated) / 10;
    const expected = [...records.credits].filter(([, month]) => percentOf(month) >= least);
    same(meta.total, expected.length, "the number of months");
    const by_id = new Map(expected);
    for (const month of data) {
      const { subscription_id, used_percent } = month;
      same(creditsOf(month), creditsOf(by_id.get(subscription_id)), `credits of ${subscription_id}`);
      same(used_percent, percentOf(month), "used_percent");
    }
    same(
      data.map(({ used_percent }) => used_percent),
      data.map(({ used_percent }) => used_percent).toSorted((a, b) => b - a),
      "the order",
    );
  };
  return [
    ask("/credits?limit=200", (answer, plain) => hold(answer, plain, 0)),
    ask("/credits?reached=80", (answer, plain) => hold(answer, plain, 80)),
  ];
}

function creditsOf({ allocated, used, remaining, overageUsed }: Partial<Static<typeof Month>> = {}) {
  return { allocated, used, remaining, overageUsed };
}

/** What a search finds by a part of a name, at most five of each kind; a number finds its record too. */
function searchQuestion(text: string, path = "/search"): Question {
  return ask(`${path}?q=${encodeURIComponent(text)}`, (answer, { records }) => {
    const { data } = shaped(Found, answer, "search");
    const { subscriptions, clients, products, models } = records;
    const is_mine = path === "/my/search";
    const all = [...subscriptions.values()];
    const named = {
      client: is_mine ? [] : clients.map(({ id, name }) => ({ id, texts: [name] })),
      product: is_mine ? [] : products.map(({ id, name }) => ({ id, texts: [name] })),
      subscription: all
        .filter(({ client_id }) => !is_mine || client_id === all[0]?.client_id)
        .map(({ id, name, external_subscription_id }) => ({ id, texts: [name, external_subscription_id] })),
      billing_model: is_mine ? [] : models.map(({ id, name }) => ({ id, texts: [name] })),
    };
    for (const [kind, rows] of Object.entries(named)) {
      const matches = rows.filter(
        ({ id, texts }) =>
          text === String(id) || texts.some((one) => one.toLowerCase().includes(text.toLowerCase())),
      );
      const found = data.filter((row) => row.kind === kind).map(({ id }) => id);
      same(found.length, Math.min(5, matches.length), `how many of ${kind} are found by ${text}`);
      const ids = new Set(matches.map(({ id }) => id));
      if (found.some((id) => !ids.has(id))) throw new Error(`Wrong: ${kind} ${found.join()} for ${text}`);
    }
  });
}

function overviewQuestion(): Question {
  return ask("/overview", (answer, { records, usage }) => {
    const { today, revenue, running_bills, top_clients } = shaped(
      dataOf(Overview),
      answer,
      "the overview",
    ).data;
    for (const part of [today.so_far, today.same_weekday, today.same_weekday_whole]) {
      const edges = [part.from, part.to].map((text) => Temporal.Instant.from(text).epochMilliseconds);
      const { total } = usage.ask({ edges, fields: [], filters: [], measure: "units" });
      same([part.units, part.events], [total.value, total.events], `usage from ${part.from}`);
    }
    holdRevenue(revenue, records, "product");
    same(running_bills.rows.length, 5, "running bills in the overview");
    const { totals } = running_bills;
    holdRunning({ ...running_bills, rows: running_bills.rows }, records, "client");
    const billed = Map.groupBy(
      records.bills.filter(
        ({ billingStartAt }) => billingStartAt >= revenue.from && billingStartAt < revenue.to,
      ),
      (bill) => `${bill.currency} ${records.subscriptions.get(bill.subscription_id)?.client_id}`,
    );
    for (const { currency } of totals) {
      const of_currency = [...billed].filter(([key]) => key.startsWith(currency));
      const best = of_currency
        .map(([, some]) => centsOf(some.map(({ totalCharges }) => totalCharges)))
        .toSorted((a, b) => (a > b ? -1 : 1));
      const shown = top_clients.filter((row) => row.currency === currency).map(({ amount }) => amount);
      same(shown, best.slice(0, 5).map(textOfCents), `the top clients in ${currency}`);
    }
  });
}

function previewQuestions({ subscriptions }: Manifest): Question[] {
  const credits = subscriptions.find((_, i) => i % 6 === 5 && i % 10 !== 7)?.id ?? 0;
  const metered = subscriptions.find((_, i) => i % 6 === 1 && i % 10 !== 7)?.id ?? 0;
  const [dearer, bigger] = [
    subscriptions[4]?.billing_model_id,
    Math.max(...subscriptions.map((one) => one.billing_model_id)) + 1,
  ];
  const preview = (id: number, path: string, body: unknown) =>
    ask(
      `/subscriptions/${id}/${path}/preview`,
      (answer, { records }) => {
        const { bills } = shaped(dataOf(Preview), answer, "a preview").data;
        same(bills[0]?.before.total, records.running.get(id)?.total, "the bill before");
        for (const { before, after, difference } of bills)
          same(difference, textOfCents(centsOf([after.total]) - centsOf([before.total])), "the difference");
      },
      { method: "POST", body, what: `POST …/${path}/preview ${JSON.stringify(body)}` },
    );
  const noon = Temporal.Now.zonedDateTimeISO(ZONE).subtract({ days: 40 }).toInstant().toString();
  return [
    preview(metered, "billing-model-changes", { new_billing_model_id: dearer, effective_at: "next_period" }),
    preview(metered, "billing-model-changes", { new_billing_model_id: dearer, effective_at: noon }),
    preview(credits, "upgrade", { new_billing_model_id: bigger }),
    preview(credits, "cancel", { at: "now" }),
    preview(metered, "cancel", { at: "period_end" }),
  ];
}

function quoteQuestions({ subscriptions }: Manifest): Question[] {
  const last_month = Temporal.Now.plainDateISO(ZONE).toPlainYearMonth().subtract({ months: 1 }).toString();
  // Of each type, one that has had its plan all along.
  return [0, 1, 2, 3, 4, 5].map((type) => {
    const one = subscriptions.find((_, i) => i % 6 === type && i % 10 !== 7);
    const body = { billing_model_id: one?.billing_model_id, subscription_id: one?.id, period: last_month };
    return ask(
      "/billing-models/quote",
      (answer, { records }) => {
        const { total, curve } = shaped(dataOf(Quote), answer, "a quote").data;
        const start = Temporal.PlainYearMonth.from(last_month).toPlainDate({ day: 1 }).toZonedDateTime(ZONE);
        const billed = records.bills.filter(
          ({ subscription_id, billingStartAt }) =>
            subscription_id === one?.id && Temporal.Instant.from(billingStartAt).equals(start.toInstant()),
        );
        same(
          total,
          textOfCents(centsOf(billed.map(({ totalCharges }) => totalCharges))),
          "the quote of a billed month",
        );
        const units = curve.points.map((point) => Number(point.units));
        same(
          units,
          units.toSorted((a, b) => a - b),
          "the curve's units",
        );
      },
      { method: "POST", body, what: `POST /billing-models/quote of a month, billing type ${type + 1}` },
    );
  });
}

function holdClientOverview(
  answer: unknown,
  { subscriptions: all }: Manifest,
  { running }: PlainRecords,
): void {
  const { totals, subscriptions, subscriptions_total } = shaped(
    dataOf(ClientOverview),
    answer,
    "my overview",
  ).data;
  const own = all.filter(({ client_id }) => client_id === all[0]?.client_id);
  same(subscriptions_total, own.length, "own subscriptions");
  for (const { id, total } of subscriptions) same(total, running.get(id)?.total, `the running bill of ${id}`);
  for (const { currency, total } of totals) {
    const bills = own.flatMap(({ id }) => {
      const bill = running.get(id);
      return bill?.currency === currency ? [bill.total] : [];
    });
    same(total, textOfCents(centsOf(bills)), `the sum in ${currency}`);
  }
}
