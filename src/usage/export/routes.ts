import { attachment } from "../../http/responses.ts";
import { myRoutes, route, routes } from "../../http/route.ts";
import { createExportLink, followExportLink } from "./export_links.ts";
import { exportUsage, MEDIA_TYPES } from "./service.ts";

const EXPORT = `All events that a search finds, as one file: \`csv\`, \`ndjson\` or \`parquet\`. CSV and NDJSON come in the search's
order, newest first by default; Parquet is sorted only when sort_by or sort_order is given. A response that
breaks off is incomplete.`;

const EXPORTED = {
  errors: [503] as const,
  sends: attachment,
  responses: {
    200: {
      description: "The file.",
      content: Object.fromEntries(
        Object.values(MEDIA_TYPES).map((media_type) => [media_type, { schema: { type: "string" } }]),
      ),
    },
  },
};

const LINK =
  "For clients that can't send a token, such as a browser. Keep the link secret: it acts in your name for 15 minutes, and ends with your tokens.";

/** Export links are followed without a token. */
export const exportLinkRoutes = routes({ tag: "Usage", admits: "open" }, [
  route("GET /usage/exports/:link", followExportLink, {
    summary: "Download an export by its link",
    description: EXPORT,
    ...EXPORTED,
  }),
]);

const EXPORTS = [
  route("POST /usage/export", exportUsage, {
    summary: "Export usage",
    my: "Export my usage",
    description: EXPORT,
    ...EXPORTED,
  }),
  route("POST /usage/exports", createExportLink, {
    summary: "Create an export link",
    my: "Create a link to an export of my usage",
    description: LINK,
  }),
];

export const usageExportRoutes = routes({ tag: "Usage", admits: "company", keeps_answers: false }, EXPORTS);

/** The same exports for client users, narrowed to their client. */
export const myUsageExportRoutes = myRoutes(EXPORTS, { keeps_answers: false });
