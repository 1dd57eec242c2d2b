import { Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { Bank, MerchantConfig } from "./model.ts";
import { getEmandateConfig, listEmandateBanks } from "./service.ts";
import { dataOf } from "../../http/responses.ts";
import { tool } from "../../mcp/tool.ts";
import { describe } from "../../mcp/wire_schema.ts";

const getSetup = tool({
  name: "emandate_get_setup",
  title: "Get the direct debit set-up",
  description:
    "Shows whether the company uses the sandbox or the banks' scheme itself (connector), how failed debits are retried, and which banks are online. Check it before anything that moves money: in the sandbox none moves.",
  finds: ["bank_code"],
  operations: [getEmandateConfig, listEmandateBanks],
  details: [
    "display_name",
    "checked_at",
    "seller_bank_code",
    "version",
    "callback_url",
    "return_url",
    "certificate_fingerprint",
    "holidays",
  ],
  input: {
    bank_type: describe(
      listEmandateBanks.input.properties.type,
      "Only banks for personal or for business accounts",
    ),
  },
  output: dataOf(Type.Object({ config: MerchantConfig, banks: Type.Array(Bank) })),
  async run(ctx, { bank_type: type }) {
    const config = await call(ctx, getEmandateConfig, {});
    const banks = await call(ctx, listEmandateBanks, type === undefined ? {} : { type });
    return { data: { config, banks: banks.data } };
  },
});

export const emandateConfigTools = [getSetup];
