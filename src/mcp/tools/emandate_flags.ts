import { Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { Id, paged } from "../../core/schema.ts";
import { ListMandateFlags, MandateFlag, ResolveMandateFlag } from "../../features/mandate_flags/model.ts";
import {
  getMandateFlag,
  listMandateFlags,
  resolveMandateFlag,
} from "../../features/mandate_flags/service.ts";
import { data, dataOf } from "../../http/answers.ts";
import { emandate_page, mandate_id } from "../params.ts";
import { tool } from "../tool.ts";
import { said } from "../wire_schema.ts";

const findFlags = tool({
  name: "emandate_find_flags",
  title: "Find what a person must decide",
  description:
    "Finds flags, newest first: what the bank said of a debit or a mandate could not be applied, or it never answered. After paid_twice or paid_beyond_limit money may have to go back.",
  level: "company",
  operations: [listMandateFlags, getMandateFlag],
  input: {
    flag_id: Type.Optional(said(Id, "One flag")),
    status: said(ListMandateFlags.properties.status, "Only in this state"),
    mandate_id: Type.Optional(mandate_id),
    ...emandate_page,
  },
  output: Type.Object({
    data: Type.Array(MandateFlag),
    meta: Type.Optional(paged(MandateFlag).properties.meta),
  }),
  run: async (ctx, { flag_id: id, ...query }) =>
    id === undefined
      ? call(ctx, listMandateFlags, query)
      : { data: [await call(ctx, getMandateFlag, { id })] },
});

const resolveFlag = tool({
  name: "emandate_resolve_flag",
  title: "Resolve a flag",
  description:
    "Takes a flag off the list of open ones; neither the debit nor the mandate changes by it. Ask the person first.",
  level: "company",
  operations: [resolveMandateFlag],
  is_outlined_elsewhere: true,
  input: {
    flag_id: said(Id, "The flag's id"),
    note: said(ResolveMandateFlag.properties.note, "What was decided"),
  },
  output: dataOf(MandateFlag),
  run: (ctx, { flag_id: id, note }) => data(call(ctx, resolveMandateFlag, { id, note })),
});

export const emandateFlagTools = [findFlags, resolveFlag];
