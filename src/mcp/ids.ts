import type { Context } from "../app/context.ts";
import { AppError } from "../core/errors.ts";

// Ids as answers show them: under other names, and as texts that people know records by. Decision 0288.

/** Finds a record's id by a text that names it in answers; undefined for one that names none. */
export type IdFinder = (ctx: Context, text: string) => Promise<number | undefined>;

/** By parameter, such as `subscription_id`; `subscription_ids` is a list of the same. */
export type IdFinders = Readonly<Record<string, IdFinder>>;

/** Names that answers, and agents from before, have for parameters of tools. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  webhook_log_id: "delivery_id",
  billing_record_id: "record_id",
  billing_run_id: "run_id",
  billing_model_change_id: "change_id",
  form_config_id: "form_id",
};

/** The parameters that take a text in place of an id. */
export const TEXT_IDS = ["subscription_id", "mandate_id", "payment_id", "application_id"] as const;

/** The longest text that is looked up. */
const TEXT_LENGTH = 250;

type Arguments = Record<string, unknown>;

/** The same input under the names of the tool's parameters. */
export function renamed(takes: ReadonlySet<string>, input: unknown): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  const entries = Object.entries(input).map(([name, value]): [string, unknown] => {
    const known = Object.hasOwn(OTHER_NAMES, name) ? OTHER_NAMES[name] : undefined;
    return known !== undefined && !takes.has(name) && takes.has(known) && !(known in input)
      ? [known, value]
      : [name, value];
  });
  return Object.fromEntries(entries);
}

/** The same input with ids in place of texts that name records. Errors: not_found. */
export async function withIds(ctx: Context, finders: IdFinders, input: unknown): Promise<unknown> {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  const found: Arguments = { ...input };
  for (const field of TEXT_IDS) {
    const find = finders[field];
    if (find === undefined) continue;
    found[field] = await idOf(ctx, find, field, found[field]);
    const list = `${field}s`;
    if (Array.isArray(found[list]))
      found[list] = await Promise.all(found[list].map((value) => idOf(ctx, find, field, value)));
  }
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}

async function idOf(ctx: Context, find: IdFinder, field: string, value: unknown): Promise<unknown> {
  if (typeof value !== "string" || value.length > TEXT_LENGTH) return value;
  const id = /^[1-9]\d{0,14}$/.test(value) ? Number(value) : undefined;
  // A text of digits may be an external id, too; then that is meant.
  const named = await find(ctx, value);
  if (named !== undefined || id !== undefined) return named ?? id;
  const noun = field.replace(/_id$/, "").replace(/^./, (letter) => letter.toUpperCase());
  throw new AppError("not_found", `${noun} ${value} not found`);
}
