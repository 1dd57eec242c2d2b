import type { ProductKey } from "../cast/catalog.ts";
import { pick } from "../dice.ts";

/** A usage event, but for whose it is. */
interface Sample {
  usage: number;
  metadata: Record<string, string | number>;
}

const roll = (n: number) => Math.floor(Math.random() * n);

const REGIONS = ["kul", "kul", "kul", "kul", "sin", "jkt"];
const CHAT_MODELS = ["horn-mini", "horn-mini", "horn-mini", "horn-code", "horn-large-2", "horn-large"];
const LANGUAGES = ["en", "ms", "ms", "zh"];

/** What samples are made of. */
interface Request {
  region: string;
  user: string;
  /** As many units as these, or fewer. */
  sized: (units: number) => number;
}

const SAMPLES: Readonly<Record<ProductKey, (request: Request) => Sample>> = {
  chat({ region, user, sized }) {
    const input_tokens = sized(200 + roll(2_200));
    const output_tokens = sized(60 + roll(700));
    const metadata = { input_tokens, model: pick(roll, CHAT_MODELS), output_tokens, region, user };
    return { usage: input_tokens + output_tokens, metadata };
  },
  embed: ({ region, sized }) => ({
    usage: sized(2_000 + roll(36_000)),
    metadata: { model: "horn-embed", region, source: pick(roll, ["files", "tickets", "web"]) },
  }),
  documents: ({ region, sized }) => ({
    usage: sized(1 + roll(8)),
    metadata: {
      document: pick(roll, ["contract", "invoice", "receipt"]),
      language: pick(roll, LANGUAGES),
      region,
    },
  }),
  speech: ({ region, user, sized }) => ({
    usage: sized(5 + roll(120)),
    metadata: { language: pick(roll, LANGUAGES), model: "horn-voice", region, user },
  }),
  images: ({ region, user, sized }) => ({
    usage: sized(1 + roll(2)),
    metadata: { model: "horn-paint", region, size: pick(roll, ["1024x1024", "512x512"]), user },
  }),
};

/** An event as those of the past, `share` of its size: where more of them come than then. */
export function sampleEvent(product: ProductKey, people: number, share: number): Sample {
  return SAMPLES[product]({
    region: pick(roll, REGIONS),
    user: `u-${String(roll(people)).padStart(3, "0")}`,
    sized: (units) => Math.max(1, Math.round(units * share)),
  });
}
