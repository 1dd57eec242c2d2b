export { FormPage, FormsPage } from "./forms.tsx";
export { MyFormPage, MyFormsPage, NewFormPage } from "./my_forms.tsx";
