import { route, routes } from "../http/route.ts";
import { erasePerson, listPersonErasures, previewPersonErasure } from "./service.ts";

const ERASE = `Give exactly one of \`user_id\`, \`client_id\`, \`customer_id\` (of mandates), \`application_id\` (the borrower of a loan
application) or \`email\` (all users, customers and borrowers who have it). What is about the person is erased when the
answer comes, sessions have ended; what texts elsewhere say, and documents, within seconds, even if the process is killed:
\`GET /people/erasures\` has its \`status\`. Amounts, ids, states and dates stay. A mandate in force, a loan that runs or an
active subscription is a 409 that says so, and nothing is erased then.`;

export const personErasureRoutes = routes({ tag: "People", admits: "company" }, [
  route("POST /people/erasures", erasePerson, {
    summary: "Erase a person",
    description: ERASE,
    status: 202,
    errors: [409],
  }),
  route("POST /people/erasures/preview", previewPersonErasure, {
    summary: "Preview the erasure of a person",
    description: "What would be erased, what stands in its way, and what stays for now. It changes nothing.",
  }),
  route("GET /people/erasures", listPersonErasures, { summary: "List erasures of people" }),
]);
