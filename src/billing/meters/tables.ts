import { invalid } from "../../core/errors.ts";
import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { AGGREGATIONS } from "../../usage_store/meter.ts";
import type { Meter } from "./model.ts";

export const meterTable = (k: ColumnKit) =>
  k.table(
    "meters",
    {
      id: k.id(),
      ...companyColumn(k),
      code: k.text("code").notNull(),
      name: k.text("name").notNull(),
      description: k.text("description").notNull(),
      aggregation: k.enumeration("aggregation", AGGREGATIONS).notNull(),
      value: k.json<Meter["value"]>("value").notNull(),
      filters: k.json<Meter["filters"]>("filters").notNull(),
      group_keys: k.json<string[]>("group_keys").notNull(),
      percentile: k.decimal("percentile"),
      carry_over: k.boolean("carry_over").notNull(),
      ...stamps(k),
    },
    (t) => [k.uniqueIndex("meters_code").on(t.company_id, t.code)],
  );

export const METER_CONSTRAINTS = {
  meters_code: () => invalid("/code", "is already used by another meter of this company"),
};
