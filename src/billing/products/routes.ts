import { route, routes } from "../../http/route.ts";
import { createProduct, deleteProduct, getProduct, listProducts, updateProduct } from "./service.ts";

export const productRoutes = routes({ tag: "Products", admits: "company" }, [
  route("GET /products", listProducts, {
    summary: "List products",
    description: "The whole list, or one page when page or limit is given.",
  }),
  route("POST /products", createProduct, { summary: "Create a product", status: 201 }),
  route("GET /products/:id", getProduct, { summary: "Get a product" }),
  route("PUT /products/:id", updateProduct, { summary: "Rename a product", if_match: true }),
  route("DELETE /products/:id", deleteProduct, {
    summary: "Delete a product",
    description: "Refused while active subscriptions use it.",
    errors: [409],
  }),
]);
