-- The oldest program that may use this database. One row.
CREATE TABLE "program_requirement" (
	"min_program" text NOT NULL
);
--> statement-breakpoint
INSERT INTO "program_requirement" ("min_program") VALUES ('0.1.0');
