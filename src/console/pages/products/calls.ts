import type { Product } from "../../../billing/products/model.ts";
import type { Nothing } from "../../../core/schema.ts";
import { post, put, remove } from "../../api/call.ts";

export const createProduct = post<typeof Product>("/products");
export const updateProduct = put<typeof Product>("/products/:id");
export const deleteProduct = remove<typeof Nothing>("/products/:id");
