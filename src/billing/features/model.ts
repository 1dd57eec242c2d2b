import { type Static, Type } from "@sinclair/typebox";
import { SHARED_LIMITS } from "../../core/limits.ts";
import {
  At,
  Id,
  Name,
  nullable,
  oneOf,
  pageFields,
  Search,
  strict,
  textUpTo,
  sortedBy,
} from "../../core/schema.ts";
import { Code } from "../meters/model.ts";

export const FEATURE_KINDS = ["switch", "limit", "value"] as const;
const Kind = oneOf(FEATURE_KINDS, "switch, limit or value");

/** Something that plans grant: a switch, a value, or a limit on what a meter counts. Decision 0234. */
export const Feature = Type.Object(
  {
    id: Id,
    code: Type.String(),
    name: Type.String(),
    description: Type.String(),
    kind: Kind,
    meter_id: nullable({ ...Id, description: "what a limit counts by; null: all usage" }),
    company_id: Id,
    created_at: At,
    updated_at: At,
  },
  { title: "Feature" },
);
export type Feature = Static<typeof Feature>;

export const ListFeatures = strict({
  search: Type.Optional(Search),
  sort: sortedBy(["id", "name", "code", "created_at"]),
  ...pageFields,
});

const Description = textUpTo(SHARED_LIMITS.description_length);

export const CreateFeature = strict(
  {
    code: Code,
    name: Name,
    description: Type.Optional(Description),
    kind: Kind,
    meter_id: Type.Optional(nullable(Id)),
  },
  {
    title: "CreateFeature",
    examples: [
      { code: "output_tokens", name: "Output tokens", kind: "limit", meter_id: 2 },
      { code: "sso", name: "Single sign-on", kind: "switch" },
    ],
  },
);

export const UpdateFeature = strict(
  {
    id: Id,
    name: Name,
    description: Type.Optional(Description),
    kind: Type.Optional(Kind),
    meter_id: Type.Optional(nullable(Id)),
  },
  { title: "UpdateFeature", examples: [{ name: "Tokens out" }] },
);
