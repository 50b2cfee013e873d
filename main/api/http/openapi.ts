/**
 * Describes the HTTP door as an OpenAPI 3.1 document, generated from the method table.
 * Loaded at the first request for it.
 */
import { z } from 'zod';
import { ERROR_CODES } from '../../contract/errors.ts';
import { liveSchema, METHODS } from '../../contract/methods/methods.ts';

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
        'parameters, or POST with a JSON body; methods that change something take POST only. No ' +
        'method takes a path: a file is sent to /api/uploads, and its id goes into the method.',
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
      '/api/uploads': { post: uploadPath() },
      '/health': { get: plainPath('Whether the program is well', 'application/json') },
      '/metrics': { get: plainPath('Figures for Prometheus', 'text/plain') },
    },
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description:
            'The file "token" in the data folder; "sluice token" prints it, "sluice token ' +
            '--renew" replaces it.',
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
  const isLocal = permission === 'local';
  const post = {
    ...(isLocal && { summary: 'Only through the socket control.sock in the data folder' }),
    operationId: name,
    tags,
    requestBody: { content: { 'application/json': { schema } } },
    responses,
  };
  if (permission !== 'read') return { post };
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

function uploadPath(): JsonSchema {
  return {
    operationId: 'uploads',
    tags: ['import', 'settings'],
    summary:
      'Takes a file, as it is; it is deleted when it was used, or after a quarter of an hour',
    requestBody: { content: { 'application/octet-stream': {} } },
    responses: {
      200: {
        description: 'Its id, for a method',
        content: {
          'application/json': {
            schema: {
              type: 'object',
              required: ['id', 'bytes'],
              properties: { id: { type: 'string' }, bytes: { type: 'integer' } },
            },
          },
        },
      },
    },
  };
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
