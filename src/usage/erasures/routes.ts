import { route, routes } from "../../http/route.ts";
import { eraseUsage, listUsageErasures } from "./service.ts";

const ERASE = `The events that meet every condition and are stored by now lose their metadata, which becomes \`{"erased": true}\`.
Their id, time and usage stay, and so do bills and their digests; a repeat of such an event is a duplicate whatever its
metadata, but for what meters read. What meters of the company read stays, and is named by \`kept_keys\`. It is carried out within seconds, even if the process is killed: \`GET /usage/erasures\` has its \`status\`.
Files hold erased text until they are written anew: docs/operations.md.`;

export const usageErasureRoutes = routes({ tag: "Usage", admits: "company" }, [
  route("POST /usage/erasures", eraseUsage, {
    summary: "Erase the metadata of usage",
    description: ERASE,
    status: 202,
  }),
  route("GET /usage/erasures", listUsageErasures, { summary: "List erasures of usage metadata" }),
]);
