import { myRoutes, route, routes } from "../http/route.ts";
import { getAttention } from "./attention/service.ts";
import { searchAll } from "./search/service.ts";
import { getOverview } from "./summary/service.ts";

const SEARCH = [
  route("GET /search", searchAll, {
    summary: "Search all records",
    my: "Search my records",
    description:
      "At most five of each kind that you may read: clients, products, subscriptions by name or external id, billing models, bills by number, users, mandates and applications by reference or name. Those of that number come first, then those that begin with the text, then those that have it anywhere.",
  }),
];

export const overviewRoutes = routes({ tag: "Company", admits: "company" }, [
  ...SEARCH,
  route("GET /overview", getOverview, {
    summary: "How the company does",
    description:
      "Usage of today beside the same weekday, what was billed for twelve months by product, running bills, the clients at the top, debits of this month, and what comes in seven days. What you may not read is null.",
    errors: [503],
  }),
  route("GET /attention", getAttention, {
    summary: "List what needs a person",
    description:
      "Of what you may read: each kind with how many there are, the newest five, and the path that lists them. Empty: nothing does.",
  }),
]);

export const myOverviewRoutes = myRoutes(SEARCH);
