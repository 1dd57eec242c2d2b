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
    description:
      "By id: all of them, or one page when page or limit is given. search matches codes and names.",
  }),
  route("POST /emandate/products", createEmandateProduct, {
    summary: "Create an e-mandate product",
    description:
      "Amounts are text, never numbers. A code is unique in the company, deleted products included. max_no_debit is 1 unless given.",
    status: 201,
  }),
  route("GET /emandate/products/:id", getEmandateProduct, { summary: "Get an e-mandate product" }),
  route("PUT /emandate/products/:id", updateEmandateProduct, {
    summary: "Replace an e-mandate product",
    description:
      "Existing mandates keep their terms. The code can't change once a mandate uses the product; is_active stays as it is unless given.",
    if_match: true,
  }),
  route("DELETE /emandate/products/:id", deleteEmandateProduct, {
    summary: "Delete an e-mandate product",
    description: "Refused while a mandate made from it has not ended. Its code stays taken.",
    errors: [409],
  }),
]);
