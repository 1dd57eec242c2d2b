import { wrongWords } from "../core/exit_codes.ts";
import { RELATIVE_WINDOWS } from "../core/windows.ts";
import { type Arguments, optional } from "./command.ts";

// What search and export narrow usage by, as words.

export const FILTER_OPTIONS = {
  company: { type: "string" },
  subscription: { type: "string", multiple: true },
  relative: { type: "string" },
  from: { type: "string" },
  to: { type: "string" },
  metadata: { type: "string", multiple: true },
  sort: { type: "string" },
} as const;

export const FILTER_HELP = `  --company ID          the company; may be left out when there is only one
  --subscription ID     an external id; may be given several times
  --relative WINDOW     ${RELATIVE_WINDOWS.join(", ")}
  --from, --to INSTANT  from this instant, up to that one; a date-time with an offset or Z, or Unix ms
  --metadata KEY=VALUE  may be given several times: each must match
  --sort ORDER          asc or desc, by time (desc)`;

/** The filter as the API takes it. Errors: wrong words. */
export function filterOf(words: Arguments): Record<string, unknown> {
  const subscriptions = listOf(words, "subscription");
  const pairs = listOf(words, "metadata").map(pairOf);
  const [relative, order] = [optional(words, "relative"), optional(words, "sort")];
  const [from, to] = [momentOf(words, "from"), momentOf(words, "to")];
  return {
    ...(subscriptions.length > 0 && { external_subscription_ids: subscriptions }),
    ...(pairs.length > 0 && { metadata: Object.fromEntries(pairs) }),
    ...(relative !== undefined && { relative }),
    ...(from !== undefined && { start_time: from }),
    ...(to !== undefined && { end_time: to }),
    ...(order !== undefined && { sort_order: order }),
  };
}

/** The values of an option that may be given several times. */
export function listOf({ values }: Arguments, name: string): string[] {
  const given = values[name];
  return Array.isArray(given) ? given.map(String) : [];
}

function pairOf(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at < 1) throw wrongWords(`--metadata must be KEY=VALUE, and is ${text}`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function momentOf(words: Arguments, name: string): number | undefined {
  const text = optional(words, name);
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  try {
    return Temporal.Instant.from(text).epochMilliseconds;
  } catch (error) {
    throw wrongWords(`--${name} must be a date-time with an offset or Z, or Unix ms, and is ${text}`, error);
  }
}
