import { route, routes } from "../http/route.ts";
import { getAuditEntry, listAuditEntries } from "./service.ts";

const LOG = `Admins only, newest first. Every operation that changes records writes an entry in the transaction of its change.
Failed operations leave none; forbidden calls, and failed sign-ins to an existing account, do. \`input\` is without secrets:
\`withheld\` names what was left out. \`changes\` holds what an update changed. \`from\` is inclusive, \`to\` exclusive.`;

export const auditRoutes = routes({ tag: "Audit log", admits: "company" }, [
  route("GET /audit-log", listAuditEntries, {
    summary: "List audit log entries",
    description: LOG,
  }),
  route("GET /audit-log/:id", getAuditEntry, {
    summary: "Get an audit log entry",
    description: "Admins only.",
  }),
]);
