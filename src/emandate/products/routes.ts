import { route, routes } from "../../http/route.ts";
import {
  createEmandateProduct,
  deleteEmandateProduct,
  getEmandateProduct,
  listEmandateProducts,
  updateEmandateProduct,
} from "./service.ts";

export const emandateProductRoutes = routes({ tag: "E-mandates", admits: "company" }, [
  route("GET /emandate/products", listEmandateProducts, {
    summary: "List e-mandate products",
    description: "Whole, or one page when page or limit is given; search looks into codes and names.",
  }),
  route("POST /emandate/products", createEmandateProduct, {
    summary: "Create an e-mandate product",
    description:
      "Amounts are text, never numbers. A code is given once in a company, also where its product was deleted. Left out, max_no_debit is 1.",
    status: 201,
  }),
  route("GET /emandate/products/:id", getEmandateProduct, { summary: "Get an e-mandate product" }),
  route("PUT /emandate/products/:id", updateEmandateProduct, {
    summary: "Replace an e-mandate product",
    description:
      "Mandates keep what they were made with. The code stays once a mandate was made under it; is_active stays when it is left out.",
  }),
  route("DELETE /emandate/products/:id", deleteEmandateProduct, {
    summary: "Delete an e-mandate product",
    description: "Refused while a mandate that was made after it has not ended. Its code stays taken.",
    errors: [409],
  }),
]);
