import type { Product } from "../../../billing/products/model.ts";
import type { SubscriptionDetail } from "../../../billing/subscriptions/detail.ts";
import type { Nothing } from "../../../core/schema.ts";
import { get, list, post, put, remove } from "../../api/call.ts";

export const listProducts = list<typeof Product>("/products", "Product");
export const getProduct = get<typeof Product>("/products/:id", "Product");
export const createProduct = post<typeof Product>("/products", "Product");
export const updateProduct = put<typeof Product>("/products/:id", "Product");
export const deleteProduct = remove<typeof Nothing>("/products/:id", "Nothing");
export const listSubscriptions = list<typeof SubscriptionDetail>("/subscriptions", "SubscriptionDetail");
