import type { AttentionKind } from "../../../overview/attention/model.ts";
import { useAnswer } from "../../api/cache.ts";
import { BASE, findPage } from "../../app/find_page.ts";
import { number } from "../../text/number.ts";
import { Badge, Section } from "../../ui/page.tsx";
import { Await } from "../../ui/states.tsx";
import { Time } from "../../ui/timeline.tsx";
import { getAttention } from "./calls.ts";

const KINDS: Record<AttentionKind, { title: string; href: string; tone: "bad" | "warn" }> = {
  billing_failed: { title: "Billing failed", href: "/billing-runs", tone: "bad" },
  usage_unbilled: { title: "Usage that no bill counts", href: "/unbilled-usage", tone: "bad" },
  change_failed: { title: "Plan changes that failed", href: "/subscriptions", tone: "bad" },
  debit_flagged: { title: "Debits that were flagged", href: "/debits/flags", tone: "bad" },
  debit_failed: { title: "Debits that failed", href: "/debits/payments?status=failed", tone: "bad" },
  webhook_disabled: { title: "Webhooks that were switched off", href: "/developers/webhooks", tone: "bad" },
  webhook_failed: {
    title: "Deliveries that failed",
    href: "/developers/deliveries?status=failed",
    tone: "warn",
  },
  credits_used_up: { title: "Credits used up", href: "/credits?reached=100", tone: "warn" },
  credits_low: { title: "Credits low", href: "/credits?reached=80", tone: "warn" },
  limit_reached: { title: "Limits reached", href: "/alerts", tone: "warn" },
  alert_reached: { title: "Alerts", href: "/alerts", tone: "warn" },
  application_waiting: {
    title: "Loan applications that wait",
    href: "/loans/production/applications",
    tone: "warn",
  },
};

/** What is wrong, which leads to its page where it has one: by its path in the interface. */
function Linked({ text, path }: { text: string; path: string }) {
  const href = BASE + path.replace("/emandate/", "/debits/").replace("/lending/", "/loans/");
  return findPage(href) ? <a href={href}>{text}</a> : <>{text}</>;
}

/** What needs a person: the gravest first. */
export function NeedsAttention() {
  const attention = useAnswer(getAttention);
  return (
    <Section title="Needs attention">
      <Await of={attention}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="soft">
              Nothing. Bills, debits, webhooks, credits and applications are as they should be.
            </p>
          ) : (
            <>
              {items.map(({ kind, count, newest }) => (
                <details key={kind}>
                  <summary>
                    <Badge tone={KINDS[kind].tone}>{number(count)}</Badge> {KINDS[kind].title}
                  </summary>
                  <ul class="rows">
                    {newest.map(({ id, at, text, path }) => (
                      <li key={id}>
                        <Linked text={text} path={path} />{" "}
                        <span class="soft">
                          <Time at={at} />
                        </span>
                      </li>
                    ))}
                  </ul>
                  <p>
                    <a href={`${BASE}${KINDS[kind].href}`}>All of them</a>
                  </p>
                </details>
              ))}
            </>
          )
        }
      </Await>
    </Section>
  );
}
