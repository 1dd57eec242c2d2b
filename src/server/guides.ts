import api from "../../docs/api.md" with { type: "file" };
import billing from "../../docs/billing.md" with { type: "file" };
import emandate from "../../docs/emandate.md" with { type: "file" };
import glossary from "../../docs/glossary.md" with { type: "file" };
import limits from "../../docs/limits.md" with { type: "file" };
import loans from "../../docs/loans.md" with { type: "file" };
import tour from "../../docs/tour.md" with { type: "file" };
import usage from "../../docs/usage.md" with { type: "file" };
import webhooks from "../../docs/webhooks.md" with { type: "file" };
import type { Resource } from "../mcp/resource.ts";

/** An imported file is its path: in the package, or inside of the executable. */
const guide = (name: string, path: string, title: string, description: string): Resource => ({
  uri: `meterhouse://guides/${name}`,
  name,
  title,
  description,
  mime_type: "text/markdown",
  read: () => Bun.file(path).text(),
});

/** The guides that explain what records and answers mean. */
export const GUIDES: readonly Resource[] = [
  guide("glossary", glossary, "Glossary", "The words of Meterhouse, one meaning each"),
  guide("tour", tour, "Tour", "From an empty company to a bill, request by request"),
  guide(
    "billing",
    billing,
    "Billing",
    "Prices, periods, proration, bills, adjustments, credits, simulations",
  ),
  guide("usage", usage, "Usage", "Sending, searching, summing, exporting and erasing events"),
  guide("limits", limits, "Limits", "Features, entitlements, checks, reservations, alerts, spend limits"),
  guide("emandate", emandate, "Direct debit", "Mandates, debits, collections, results, flags"),
  guide("loans", loans, "Loans", "Programs, applications, documents, consents"),
  guide("webhooks", webhooks, "Webhooks", "Events, signatures, deliveries"),
  guide("api", api, "REST interface", "Signing in, paging, errors, repeats"),
];
