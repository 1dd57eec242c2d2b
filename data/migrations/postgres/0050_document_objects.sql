ALTER TABLE "loan_documents" ADD COLUMN "object_id" text;--> statement-breakpoint
CREATE UNIQUE INDEX "loan_documents_object" ON "loan_documents" USING btree ("object_id");