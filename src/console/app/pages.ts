import type { Permission } from "../../core/access.ts";
import type { IconName } from "../ui/icon.tsx";

/** What a page is given: the parts of its address that its path names. */
export type PageProps = { params: Record<string, string> };

/** Whose pages are loaded together; `areas.ts` loads them. */
export type AreaName =
  | "bills"
  | "customers"
  | "debits"
  | "developers"
  | "forms"
  | "loans"
  | "my"
  | "overview"
  | "prices"
  | "settings"
  | "usage";

export interface Page {
  /** Below /console. */
  path: string;
  title: string;
  /** What one must be allowed to, to see it; none: everybody who is signed in. */
  permission?: Permission;
  /** Whose page it is: company users', client users', or both. */
  audience: "company" | "client" | "any";
  /** The area that it is in, and its name there. */
  area: AreaName;
  component: string;
  /** Its dialog for a new record, which `?new` opens (`useNew`): what that is called, and what one must be allowed to. */
  create?: { title: string; permission: Permission };
  /** Where navigation shows it. Pages of one record have none. */
  nav?: { group: Group; icon: IconName; key?: string };
}

export const GROUPS = ["", "Customers", "Prices", "Billing", "More"] as const;
type Group = (typeof GROUPS)[number];

type Row = [
  path: string,
  title: string,
  permission: Permission | null,
  component: string,
  more?: Pick<Page, "nav" | "create">,
];

/** The pages of an area. */
function pagesOf(area: AreaName, audience: Page["audience"], rows: readonly Row[]): Page[] {
  return rows.map(([path, title, permission, component, more = {}]) => ({
    path,
    title,
    audience,
    area,
    component,
    ...(permission !== null && { permission }),
    ...more,
  }));
}

/** All pages. Navigation, palette, keys and the tests' walk over all pages are made from it. */
export const PAGES: readonly Page[] = [
  ...pagesOf("overview", "company", [
    [
      "/overview",
      "Overview",
      "subscriptions:read",
      "OverviewPage",
      { nav: { group: "", icon: "overview", key: "o" } },
    ],
    ["/first-steps", "First steps", "subscriptions:write", "FirstStepsPage"],
  ]),
  ...pagesOf("usage", "company", [
    ["/usage", "Usage", "usage:read", "ExplorerPage", { nav: { group: "", icon: "usage", key: "e" } }],
    ["/usage/events", "Usage events", "usage:read", "EventsPage"],
    ["/usage/views", "Saved views", "usage:read", "ViewsPage"],
    ["/usage/metadata", "Metadata", "usage:read", "MetadataKeysPage"],
    ["/usage/imports", "Import", "usage:write", "ImportsPage"],
    ["/usage/erasures", "Erasures", "usage:erase", "ErasuresPage"],
    ["/usage/imports/:id", "Import", "usage:write", "ImportPage"],
  ]),
  ...pagesOf("customers", "company", [
    [
      "/clients",
      "Clients",
      "clients:read",
      "ClientsPage",
      {
        nav: { group: "Customers", icon: "clients", key: "c" },
        create: { title: "New client", permission: "clients:write" },
      },
    ],
    ["/clients/:id", "Client", "clients:read", "ClientPage"],
    [
      "/subscriptions",
      "Subscriptions",
      "subscriptions:read",
      "SubscriptionsPage",
      {
        nav: { group: "Customers", icon: "subscriptions", key: "u" },
        create: { title: "New subscription", permission: "subscriptions:write" },
      },
    ],
    ["/subscriptions/:id", "Subscription", "subscriptions:read", "SubscriptionPage"],
  ]),
  ...pagesOf("prices", "company", [
    [
      "/products",
      "Products",
      "products:read",
      "ProductsPage",
      {
        nav: { group: "Prices", icon: "products", key: "p" },
        create: { title: "New product", permission: "products:write" },
      },
    ],
    ["/products/:id", "Product", "products:read", "ProductPage"],
    [
      "/billing-models",
      "Billing models",
      "billing_models:read",
      "BillingModelsPage",
      { nav: { group: "Prices", icon: "prices", key: "m" } },
    ],
    ["/billing-models/new", "New billing model", "billing_models:write", "NewBillingModelPage"],
    ["/billing-models/:id", "Billing model", "billing_models:read", "BillingModelPage"],
    ["/meters", "Meters", "meters:read", "MetersPage", { nav: { group: "Prices", icon: "usage", key: "y" } }],
    ["/meters/new", "New meter", "meters:write", "NewMeterPage"],
    ["/meters/:id", "Meter", "meters:read", "MeterPage"],
    ["/add-ons", "Add-ons", "billing_models:read", "AddOnsPage", { nav: { group: "Prices", icon: "plus" } }],
    [
      "/features",
      "Features",
      "entitlements:read",
      "FeaturesPage",
      { nav: { group: "Prices", icon: "limits", key: "f" } },
    ],
    [
      "/alerts",
      "Alerts",
      "entitlements:read",
      "AlertsPage",
      { nav: { group: "Prices", icon: "warning", key: "a" } },
    ],
    ["/alerts/:id", "Alert", "entitlements:read", "AlertPage"],
    [
      "/simulations",
      "Simulations",
      "revenue:read",
      "SimulationsPage",
      { nav: { group: "Prices", icon: "runs", key: "i" } },
    ],
    ["/simulations/:id", "Simulation", "revenue:read", "SimulationPage"],
    ["/margins", "Margins", "revenue:read", "MarginsPage", { nav: { group: "Prices", icon: "credits" } }],
    [
      "/migrations",
      "Migrations",
      "subscriptions:read",
      "MigrationsPage",
      { nav: { group: "Prices", icon: "right" } },
    ],
    ["/migrations/:id", "Migration", "subscriptions:read", "MigrationPage"],
  ]),
  ...pagesOf("bills", "company", [
    ["/bills", "Bills", "billing:read", "BillsPage", { nav: { group: "Billing", icon: "bills", key: "b" } }],
    ["/bills/:id", "Bill", "billing:read", "BillPage"],
    [
      "/running-bills",
      "Running bills",
      "billing:read",
      "RunningBillsPage",
      { nav: { group: "Billing", icon: "bills" } },
    ],
    [
      "/credits",
      "Credits",
      "subscriptions:read",
      "CreditsPage",
      { nav: { group: "Billing", icon: "credits", key: "r" } },
    ],
    [
      "/revenue",
      "Revenue",
      "revenue:read",
      "RevenuePage",
      { nav: { group: "Billing", icon: "usage", key: "v" } },
    ],
    [
      "/billing-runs",
      "Billing runs",
      "billing:read",
      "RunsPage",
      { nav: { group: "Billing", icon: "runs" } },
    ],
    ["/billing-runs/:id", "Billing run", "billing:read", "RunPage"],
    [
      "/unbilled-usage",
      "Unbilled usage",
      "billing:read",
      "UnbilledUsagePage",
      { nav: { group: "Billing", icon: "warning" } },
    ],
  ]),
  ...pagesOf("debits", "company", [
    [
      "/debits/mandates",
      "Mandates",
      "emandate:read",
      "MandatesPage",
      { nav: { group: "More", icon: "debits", key: "t" } },
    ],
    ["/debits/mandates/:id", "Mandate", "emandate:read", "MandatePage"],
    ["/debits/payments", "Debits", "emandate:read", "PaymentsPage"],
    ["/debits/payments/:id", "Debit", "emandate:read", "PaymentPage"],
    ["/debits/collections", "Collections", "emandate:read", "CollectionsPage"],
    ["/debits/flags", "Flags", "emandate:read", "FlagsPage"],
    ["/debits/settings", "Set-up", "emandate:read", "DebitSettingsPage"],
  ]),
  ...pagesOf("loans", "company", [
    [
      "/loans/production/applications",
      "Loans",
      "lending:read",
      "ApplicationsPage",
      { nav: { group: "More", icon: "loans", key: "l" } },
    ],
    ["/loans/:environment/applications", "Applications", "lending:read", "ApplicationsPage"],
    ["/loans/:environment/applications/:id", "Application", "lending:read", "ApplicationPage"],
    ["/loans/:environment/programs", "Loan programs", "lending:read", "ProgramsPage"],
    ["/loans/:environment/consents", "Consent texts", "lending:read", "ConsentTextsPage"],
  ]),
  ...pagesOf("forms", "company", [
    ["/forms", "Forms", "forms:read", "FormsPage", { nav: { group: "More", icon: "forms" } }],
    ["/forms/:id", "Form", "forms:read", "FormPage"],
  ]),
  ...pagesOf("developers", "company", [
    [
      "/developers/webhooks",
      "Webhooks",
      "webhooks:read",
      "WebhooksPage",
      { nav: { group: "More", icon: "developers", key: "d" } },
    ],
    ["/developers/deliveries", "Deliveries", "webhooks:read", "DeliveriesPage"],
    [
      "/developers/events",
      "Events",
      "events:read",
      "EventsPage",
      { nav: { group: "More", icon: "developers" } },
    ],
    ["/developers/api-keys", "API keys", "api_keys:read", "ApiKeysPage"],
  ]),
  ...pagesOf("settings", "company", [
    [
      "/settings",
      "Company",
      "company:read",
      "CompanyPage",
      { nav: { group: "More", icon: "settings", key: "s" } },
    ],
    [
      "/settings/users",
      "Users",
      "users:read",
      "UsersPage",
      { create: { title: "New user", permission: "users:write" } },
    ],
    ["/settings/users/:id", "User", "users:read", "UserPage"],
    ["/settings/erasures", "Erasing people", "people:erase", "PeopleErasuresPage"],
    ["/settings/audit-log", "Audit log", "audit:read", "AuditLogPage"],
  ]),
  ...pagesOf("settings", "any", [["/account", "My account", null, "AccountPage"]]),
  ...pagesOf("my", "client", [
    [
      "/my",
      "Overview",
      "subscriptions:read",
      "MyOverviewPage",
      { nav: { group: "", icon: "overview", key: "o" } },
    ],
    ["/my/subscriptions/:id", "Subscription", "subscriptions:read", "MySubscriptionPage"],
    ["/my/bills", "Bills", "billing:read", "MyBillsPage", { nav: { group: "", icon: "bills", key: "b" } }],
    ["/my/bills/:id", "Bill", "billing:read", "MyBillPage"],
  ]),
  ...pagesOf("usage", "client", [
    ["/my/usage", "Usage", "usage:read", "MyExplorerPage", { nav: { group: "", icon: "usage", key: "e" } }],
    ["/my/usage/events", "Usage events", "usage:read", "MyEventsPage"],
    ["/my/usage/views", "Saved views", "usage:read", "MyViewsPage"],
  ]),
  ...pagesOf("forms", "client", [
    ["/my/forms", "Forms", "forms:read", "MyFormsPage", { nav: { group: "", icon: "forms", key: "f" } }],
    ["/my/forms/new", "New form", "forms:write", "NewFormPage"],
    ["/my/forms/:id", "Form", "forms:read", "MyFormPage"],
  ]),
];
