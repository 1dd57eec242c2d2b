export { ProductPage } from "./product.tsx";
export { ProductsPage } from "./products.tsx";
