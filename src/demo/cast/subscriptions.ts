import type { Calendar } from "../calendar.ts";
import { type ClientPlan, CLIENTS, type Rhythm } from "./clients.ts";
import { PRODUCT_KEYS, type ProductKey } from "./catalog.ts";
import { dice } from "../dice.ts";

/** A subscription of the demo, and how much it is used. */
export interface Line {
  external_id: string;
  name: string;
  client: string;
  product: ProductKey;
  /** The key of its first billing model. */
  plan: string;
  /** Its first day. */
  from: Temporal.PlainDate;
  /** The day from which on it is used no more; null: it goes on. */
  until: Temporal.PlainDate | null;
  anchor_day: number;
  rhythm: Rhythm;
  /** How many events it has beside others. */
  weight: number;
}

/** Subscriptions that end: how many days ago. */
const ENDED: Readonly<Record<string, number>> = {
  "rotan-chat-1": 150,
  "gelombang-speech": 96,
  "inai-documents": 61,
  "meranti-chat-2": 47,
  "angsana-embed": 33,
  "cahaya-chat-1": 12,
};

/** Events of a product beside chat's. */
const SHARES: Readonly<Record<ProductKey, number>> = {
  chat: 1,
  embed: 0.55,
  documents: 0.4,
  speech: 0.3,
  images: 0.35,
};

/** Plans that exist in ringgit only. */
const planIn = (plan: string, currency: ClientPlan["currency"]) =>
  currency === "USD" ? `${plan}-usd` : plan;

/** Every subscription of these clients, the oldest clients' first. */
export function castLines(calendar: Calendar, clients = CLIENTS): Line[] {
  const roll = dice(7);
  return clients.flatMap((client) => linesOf(client, calendar, roll));
}

function linesOf(client: ClientPlan, calendar: Calendar, roll: (n: number) => number): Line[] {
  const products = client.lines.map(productOf);
  const counts = new Map<string, number>();
  return client.lines.map((line, i) => {
    const product = productOf(line);
    const is_only = products.filter((one) => one === product).length === 1;
    const number = (counts.get(product) ?? 0) + 1;
    counts.set(product, number);
    const external_id = `${client.key}-${product}${is_only ? "" : `-${number}`}`;
    const joined = calendar.month(client.joins);
    // Most begin with one product, and take to others within half a year.
    const months_later = Math.min(i === 0 ? 0 : i + roll(2), 11 - client.joins);
    const day = client.joins === 0 && i === 0 ? 1 : pickDay(roll);
    const ended = ENDED[external_id];
    return {
      external_id,
      name: `${client.name}, ${NAMES[product]}${is_only ? "" : ` ${number}`}`,
      client: client.key,
      product,
      plan: planIn(line, client.currency),
      from: joined.add({ months: months_later }).with({ day }),
      until: ended === undefined ? null : calendar.ago(ended),
      anchor_day: day === 15 ? 15 : 1,
      rhythm: client.rhythm,
      weight: client.weight * SHARES[product] * (number === 1 ? 1 : 0.6) * (0.6 + roll(90) / 100),
    };
  });
}

/** The product of a line such as `chat/payg`. Errors: throws for one that the company does not sell. */
function productOf(line: string): ProductKey {
  const product = PRODUCT_KEYS.find((key) => line.startsWith(`${key}/`));
  if (product === undefined) throw new Error(`The demo has no product of ${line}`);
  return product;
}

/** Most subscriptions begin with a month; some in its midst. */
function pickDay(roll: (n: number) => number): number {
  return [1, 1, 1, 1, 15, 5, 12][roll(7)] ?? 1;
}

const NAMES: Readonly<Record<ProductKey, string>> = {
  chat: "chat",
  embed: "search",
  documents: "documents",
  speech: "calls",
  images: "pictures",
};
