import { Type } from "@sinclair/typebox";
import { Id } from "../../core/schema.ts";
import { getMandateFlag, listMandateFlags, resolveMandateFlag } from "./service.ts";
import { action, finder } from "../../mcp/shapes.ts";
import { tool } from "../../mcp/tool.ts";
import { describe } from "../../mcp/wire_schema.ts";
import { emandate_page, mandate_id } from "../tools.ts";

const findFlags = tool({
  name: "emandate_find_flags",
  title: "Find flags",
  description:
    "Finds flags, newest first: debits and mandates whose result from the bank could not be applied, or never came. After paid_twice or paid_beyond_limit, money may have to go back.",
  ...finder("flag_id", listMandateFlags, getMandateFlag),
  input: {
    flag_id: Type.Optional(describe(Id, "One flag")),
    status: describe(listMandateFlags.input.properties.status, "Only in this state"),
    mandate_id: Type.Optional(mandate_id),
    ...emandate_page,
  },
});

const resolveFlag = tool({
  name: "emandate_resolve_flag",
  title: "Resolve a flag",
  description:
    "Takes a flag off the list of open ones; neither the debit nor the mandate changes. Ask the person first.",
  ...action(resolveMandateFlag, "flag_id"),
  input: {
    flag_id: describe(Id, "The flag's id"),
    note: describe(resolveMandateFlag.input.properties.note, "The decision"),
  },
});

export const mandateFlagTools = [findFlags, resolveFlag];
