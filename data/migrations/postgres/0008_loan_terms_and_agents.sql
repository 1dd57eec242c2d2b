ALTER TABLE "api_keys" ADD COLUMN "replaces_id" bigint;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "first_key_id" bigint;--> statement-breakpoint
ALTER TABLE "loan_applications" ADD COLUMN "form_snapshot" jsonb;--> statement-breakpoint
ALTER TABLE "loan_applications" ADD COLUMN "requested" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "api_keys_replaces" ON "api_keys" USING btree ("replaces_id") WHERE replaces_id IS NOT NULL;--> statement-breakpoint
UPDATE "loan_applications" SET "form_snapshot" = (SELECT "config"::jsonb FROM "forms" WHERE "forms"."id" = ("loan_applications"."program_snapshot" ->> 'form_config_id')::bigint) WHERE "status" <> 'draft';--> statement-breakpoint
UPDATE "loan_applications" SET "requested" = "missing";--> statement-breakpoint
UPDATE "loan_applications" SET "borrower" = jsonb_build_object('type', "borrower" ->> 'type', 'name', '', 'ic_number', null, 'registration_number', null, 'email', null, 'phone', null, 'monthly_income', null, 'employment_type', null), "borrower_name" = '', "purpose" = NULL, "answers" = '{}'::jsonb, "external_reference" = NULL WHERE "deleted_at" IS NOT NULL;--> statement-breakpoint
UPDATE "consents" SET "subject_name" = '', "subject_ic_last4" = NULL, "evidence" = "evidence" || '{"ip": null, "user_agent": null}'::jsonb WHERE "application_id" IN (SELECT "id" FROM "loan_applications" WHERE "deleted_at" IS NOT NULL);
