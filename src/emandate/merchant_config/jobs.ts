import type { Job } from "../../app/context.ts";
import { call } from "../../app/operation.ts";
import { LIMITS } from "../limits.ts";
import { refreshEmandateBanks, resealEmandateKey } from "./service.ts";

export const EMANDATE_CONFIG_JOBS: readonly Job[] = [
  {
    name: "emandate_banks",
    summary: "Ask the debit scheme which banks are online, for companies that work with FPX",
    cron: "20 */5 * * * *",
    at_once: LIMITS.scheme_companies,
    async run(ctx) {
      await call(ctx, refreshEmandateBanks, {});
    },
  },
  {
    name: "emandate_reseal",
    summary: "Seal private keys with the newest key of SECRETS_KEY",
    cron: "50 35 3 * * *",
    async run(ctx) {
      await call(ctx, resealEmandateKey, {});
    },
  },
];
