import { route, routes } from "../../http/route.ts";
import { listClientFigures } from "./service.ts";

export const clientFigureRoutes = routes({ tag: "Clients", admits: "company" }, [
  route("GET /client-figures", listClientFigures, {
    summary: "List what clients come to",
    description:
      "For the clients of a page of a list: what runs, the last bill, and the usage of each of thirty days.",
    errors: [503],
  }),
]);
