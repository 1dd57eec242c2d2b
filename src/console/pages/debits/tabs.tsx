import type { MandateStatus } from "../../../emandate/mandates/model.ts";
import type { PaymentStatus } from "../../../emandate/payments/model.ts";
import { BASE, isMine } from "../../app/find_page.ts";
import { PAGES } from "../../app/pages.ts";
import { Tabs } from "../../ui/page.tsx";

/** The pages of direct debits. */
export function DebitTabs({ at }: { at: string }) {
  const pages = PAGES.filter(
    (page) => page.path.startsWith("/debits") && !page.path.includes(":") && isMine(page),
  );
  return (
    <Tabs
      label="Direct debits"
      of={pages.map(({ path, title }) => ({ title, href: `${BASE}${path}`, is_open: path === at }))}
    />
  );
}

type Tone = "good" | "bad" | "warn" | "plain" | "busy";

export const MANDATE_TONES: Record<MandateStatus, Tone> = {
  pending: "busy",
  pending_authorization: "busy",
  pending_approval: "busy",
  active: "good",
  suspended: "warn",
  pending_termination: "busy",
  failed: "bad",
  rejected: "bad",
  cancelled: "plain",
  terminated: "plain",
  expired: "plain",
};

export const PAYMENT_TONES: Record<PaymentStatus, Tone> = {
  scheduled: "busy",
  submitted: "busy",
  paid: "good",
  failed: "bad",
  retry_scheduled: "warn",
  charged_back: "bad",
  cancelled: "plain",
  skipped: "plain",
};
