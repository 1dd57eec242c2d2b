import { operation } from "../../app/operation.ts";
import { readTx } from "../../app/transaction.ts";
import { may, type Permission } from "../../core/access.ts";
import { Nothing } from "../../core/schema.ts";
import { iso } from "../../core/time.ts";
import { listZones } from "../../tenancy/companies/queries.ts";
import * as billing from "./billing_queries.ts";
import { Attention, ATTENTION_KINDS, type AttentionKind } from "./model.ts";
import * as others from "./queries.ts";
import type { Look } from "./look.ts";

/** What a kind takes to be read, and how it is found. */
const KINDS: Record<AttentionKind, { permission: Permission; look: Look }> = {
  billing_failed: { permission: "billing:read", look: billing.lookForFailedBilling },
  usage_unbilled: { permission: "billing:read", look: billing.lookForUnbilledUsage },
  change_failed: { permission: "subscriptions:read", look: billing.lookForFailedChanges },
  debit_flagged: { permission: "emandate:read", look: others.lookForFlags },
  debit_failed: { permission: "emandate:read", look: others.lookForFailedDebits },
  webhook_disabled: { permission: "webhooks:read", look: others.lookForDisabledWebhooks },
  webhook_failed: { permission: "webhooks:read", look: others.lookForFailedDeliveries },
  credits_used_up: { permission: "subscriptions:read", look: billing.lookForCredits(100) },
  credits_low: { permission: "subscriptions:read", look: billing.lookForCredits(80) },
  limit_reached: { permission: "entitlements:read", look: others.lookForLimits },
  alert_reached: { permission: "entitlements:read", look: others.lookForAlerts },
  application_waiting: { permission: "lending:read", look: others.lookForApplications },
};

/** Lists what needs a person, of what the caller may read. Decision 0284. */
export const getAttention = operation({
  name: "get_attention",
  permission: "company:read",
  input: Nothing,
  output: Attention,
  async run(ctx) {
    const tx = readTx(ctx);
    const zones = await listZones(tx);
    const kinds = ATTENTION_KINDS.filter((kind) => may(ctx.actor, KINDS[kind].permission));
    const looked = await Promise.all(
      kinds.map(async (kind) => ({ kind, ...(await KINDS[kind].look(tx, zones)) })),
    );
    return { as_of: iso(ctx.now), items: looked.filter(({ count }) => count > 0) };
  },
});
