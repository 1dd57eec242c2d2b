import type { ErrorDetail } from "../../core/errors.ts";
import type { FieldErrors } from "../../core/field_errors.ts";
import { compare } from "../../core/money.ts";
import type { Entitlement, EntitlementInput } from "./entitlement_model.ts";
import type { Meter } from "../meters/model.ts";
import type { Feature } from "./model.ts";

/** A feature, with what its meter counts; null without one. */
export type LimitableFeature = Pick<Feature, "kind"> & {
  readonly meter: Pick<Meter, "aggregation" | "group_keys"> | null;
};

/** Whether what a meter counts has a running total, which a limit needs. */
export function canBeLimited({ aggregation }: Pick<Meter, "aggregation">): boolean {
  return aggregation !== "average" && aggregation !== "percentile";
}

/**
 * Reads the entitlements of a request, of features by code; the broken rules go into `errors`, below `path`.
 * Decision 0234.
 */
export function readEntitlements(
  inputs: readonly EntitlementInput[],
  features: ReadonlyMap<string, LimitableFeature>,
  errors: FieldErrors,
  path = "/entitlements",
): Entitlement[] {
  const read = inputs.map((input, i): Entitlement => {
    const { feature, enabled = true, limit = null, window = null, hard = true, per = null } = input;
    return {
      feature,
      enabled,
      limit: limit === null ? null : errors.decimal(limit, `${path}/${i}/limit`),
      window,
      hard,
      per,
      value: input.value ?? null,
    };
  });
  const earlier = new Set<string>();
  for (const [i, entitlement] of read.entries()) {
    const at = `${path}/${i}`;
    const feature = features.get(entitlement.feature);
    errors.add(
      ...(feature
        ? termRules(entitlement, feature, at)
        : [{ path: `${at}/feature`, message: "names no feature of this company" }]),
    );
    const { window, per } = entitlement;
    const place = feature?.kind === "limit" ? [entitlement.feature, window, per] : [entitlement.feature];
    const key = JSON.stringify(place);
    if (earlier.has(key)) errors.add({ path: at, message: repeated(feature) });
    earlier.add(key);
  }
  return read;
}

function repeated(feature: LimitableFeature | undefined): string {
  return feature?.kind === "limit"
    ? "must have another window or per: an earlier entitlement to the feature has these"
    : "must be left out: an earlier entitlement is to the same feature";
}

function termRules(terms: Entitlement, { kind, meter }: LimitableFeature, at: string): ErrorDetail[] {
  const leftOut = (...names: ("limit" | "window" | "per" | "value")[]) =>
    names
      .filter((name) => terms[name] !== null)
      .map((name) => ({
        path: `${at}/${name}`,
        message: `must be left out: the feature is of kind ${kind}`,
      }));
  if (kind === "switch") return leftOut("limit", "window", "per", "value");
  if (kind === "value")
    return [
      ...leftOut("limit", "window", "per"),
      ...(terms.value === null
        ? [{ path: `${at}/value`, message: "is required: the feature is of kind value" }]
        : []),
    ];
  const { limit, window, per } = terms;
  const broken = leftOut("value");
  if (limit !== null && compare(limit, "0") < 0)
    broken.push({ path: `${at}/limit`, message: "must be 0 or more" });
  if (window === null && (limit !== null || per !== null))
    broken.push({
      path: `${at}/window`,
      message: "is required with a limit: hour, day, week, month or life",
    });
  if (window === "life" && meter?.aggregation === "weighted_sum")
    broken.push({
      path: `${at}/window`,
      message: "must be hour, day, week or month: the feature's meter averages a level over the window",
    });
  const group_keys = meter?.group_keys ?? [];
  if (per !== null && !group_keys.includes(per)) {
    const keys = group_keys.join(", ");
    broken.push({
      path: `${at}/per`,
      message: keys === "" ? "must be left out: the feature's meter has no group keys" : `must be ${keys}`,
    });
  }
  return broken;
}
