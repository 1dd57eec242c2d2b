import { AppError } from "../../core/errors.ts";
import type { ConsentDefinition, ConsentText, DefinitionStatus } from "./model.ts";

export const DEFINITION_TRIGGERS = ["edit", "publish", "retire"] as const;
export type DefinitionTrigger = (typeof DEFINITION_TRIGGERS)[number];

/** The transitions of a definition; publishing a version retires the one before. */
export const DEFINITION_STEPS: Record<
  DefinitionStatus,
  Partial<Record<DefinitionTrigger, DefinitionStatus>>
> = {
  draft: { edit: "draft", publish: "published" },
  published: { retire: "retired" },
  retired: {},
};

/** The definition's status after a trigger. Errors: conflict where its status forbids it. */
export function nextDefinitionStatus(
  { id, status }: Pick<ConsentDefinition, "id" | "status">,
  trigger: DefinitionTrigger,
): DefinitionStatus {
  const next = DEFINITION_STEPS[status][trigger];
  if (next !== undefined) return next;
  const why = trigger === "edit" ? `${status}; make a new version` : status;
  throw new AppError("conflict", `Cannot ${trigger} consent definition ${id}: it is ${why}`);
}

/** The canonical JSON of the text (RFC 8785), which `text_sha256` is the hash of. Decision 0106. */
export function canonicalText(text: ConsentText): string {
  return JSON.stringify(textOf(text));
}

/** The text of a definition alone, with its keys in the order in which they are hashed. */
export function textOf(definition: ConsentText): ConsentText {
  const { audience, code, data_categories, data_life_days, data_text } = definition;
  const { locale, purpose_text, title, validity_days } = definition;
  const content = { data_categories, data_life_days, data_text, locale, purpose_text, title, validity_days };
  return { audience, code, ...content };
}

/** The SHA-256 of a definition's text, in hex. */
export function textSha256(text: ConsentText): string {
  return new Bun.CryptoHasher("sha256").update(canonicalText(text)).digest("hex");
}
