/**
 * Describes the HTTP door as an OpenAPI 3.1 document, generated from the method table.
 * Loaded at the first request for it.
 */
import { z } from 'zod';
import { ERROR_CODES } from '../contract/errors.ts';
import { liveSchema, METHODS } from '../contract/methods.ts';

type JsonSchema = Record<string, unknown>;

/** @param version  of the program */
export function openApiDocument(version: string): JsonSchema {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sluice',
      version,
      description:
        'Every operation of Sluice. Methods that only read take GET with the input as query ' +
        'parameters, or POST with a JSON body; methods that change something take POST only.',
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }],
    paths: {
      ...Object.fromEntries(
        Object.keys(METHODS).map((name) => [
          `/api/${name}`,
          methodPath(name as keyof typeof METHODS),
        ]),
      ),
      '/api/live': { get: livePath() },
      '/health': { get: plainPath('Whether the program is well', 'application/json') },
      '/metrics': { get: plainPath('Figures for Prometheus', 'text/plain') },
    },
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description:
            'The token in run.json. A client of the same user on this machine needs none.',
        },
      },
      schemas: { Error: errorSchema() },
    },
  };
}

function methodPath(name: keyof typeof METHODS): JsonSchema {
  const { input, output, permission } = METHODS[name];
  const schema = toSchema(input, 'input');
  const responses = {
    200: {
      description: 'The result',
      content: { 'application/json': { schema: toSchema(output, 'output') } },
    },
    default: {
      description: 'What went wrong',
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    },
  };
  const tags = [name.split('.', 1)[0]];
  const post = {
    operationId: name,
    tags,
    requestBody: { content: { 'application/json': { schema } } },
    responses,
  };
  if (permission === 'write') return { post };
  const get = { operationId: `${name}.get`, tags, parameters: parameters(schema), responses };
  return { get, post };
}

function parameters(schema: JsonSchema): JsonSchema[] {
  const required = Array.isArray(schema['required']) ? (schema['required'] as string[]) : [];
  const properties = (schema['properties'] ?? {}) as Record<string, JsonSchema>;
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema: property,
  }));
}

function livePath(): JsonSchema {
  return {
    operationId: 'live',
    tags: ['live'],
    summary: 'Server-sent events; the data of each message is one update',
    responses: {
      200: {
        description: 'The stream',
        content: { 'text/event-stream': { schema: toSchema(liveSchema, 'output') } },
      },
    },
  };
}

function plainPath(summary: string, type: string): JsonSchema {
  return {
    summary,
    security: [],
    responses: { 200: { description: summary, content: { [type]: {} } } },
  };
}

function errorSchema(): JsonSchema {
  return {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['code', 'message'],
        properties: {
          code: {
            type: 'string',
            enum: Object.keys(ERROR_CODES),
            description: Object.entries(ERROR_CODES)
              .map(([code, advice]) => `${code}: ${advice}`)
              .join('\n'),
          },
          message: { type: 'string' },
        },
      },
    },
  };
}

function toSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const whole = z.toJSONSchema(schema, { io }) as JsonSchema;
  return Object.fromEntries(Object.entries(whole).filter(([key]) => key !== '$schema'));
}
