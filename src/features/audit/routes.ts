import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { paged } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import { AuditEntry, ListAuditEntries } from "./model.ts";
import { getAuditEntry, listAuditEntries } from "./service.ts";

const LOG = `Admins only, newest first. Every operation that changes records writes an entry in the transaction of its change;
refused and failed ones leave none, but for failed sign-ins to an account that exists. \`input\` is what was asked, without
secrets: \`withheld\` names what was left out. \`changes\` holds what an update changed. \`from\` is inclusive, \`to\` exclusive.`;

export const auditRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/audit-log", tags: ["Audit log"] })
    .use(session(deps, "company"))
    .get("", ({ ctx, query }) => call(ctx, listAuditEntries, query), {
      query: fromText(ListAuditEntries),
      response: answers({ 200: paged(AuditEntry) }),
      detail: {
        operationId: listAuditEntries.name,
        summary: "List who did what, when and from where",
        description: LOG,
      },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getAuditEntry, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(AuditEntry), 404: ErrorBody }),
      detail: {
        operationId: getAuditEntry.name,
        summary: "Get an entry of the audit log",
        description: "Admins only.",
      },
    });
