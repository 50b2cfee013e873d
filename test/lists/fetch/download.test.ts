import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { constants, brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { LIMITS } from '../../../main/contract/limits.ts';
import { isPublicAddress } from '../../../main/lists/fetch/address-guard.ts';
import {
  downloadList,
  type DownloadRequest,
  type Fetched,
} from '../../../main/lists/fetch/download.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { fixedLookup, listServer, noLookup, serve, type ListServer } from '../list-server.ts';

const FAST = { [constants.BROTLI_PARAM_QUALITY]: 1 };
const TEXT = '||a.example^\n||b.example^\n';

interface Setup {
  readonly server: ListServer;
  readonly target: string;
  readonly get: (path: string, more?: Partial<DownloadRequest>) => Promise<Fetched | null>;
}

async function setUp(t: TestContext): Promise<Setup> {
  const server = await listServer(t);
  const target = join(await tempDir(t), 'list.new');
  const get: Setup['get'] = (path, more) =>
    downloadList({
      url: path.startsWith('http') ? path : server.origin + path,
      etag: '',
      lastModified: '',
      target,
      lookup: noLookup,
      signal: new AbortController().signal,
      ...more,
    });
  return { server, target, get };
}

describe('a download', () => {
  test('lies in the file with its hash and validators', async (t) => {
    const { server, target, get } = await setUp(t);
    server.answers.set('/list', (_, response) => {
      response.writeHead(200, { etag: '"1"', 'last-modified': 'Mon, 01 Jan 2024 00:00:00 GMT' });
      response.end(TEXT);
    });
    assert.deepEqual(await get('/list'), {
      bytes: TEXT.length,
      sha256: createHash('sha256').update(TEXT).digest('hex'),
      etag: '"1"',
      lastModified: 'Mon, 01 Jan 2024 00:00:00 GMT',
      isFromPublic: false,
    });
    assert.equal(readFileSync(target, 'utf8'), TEXT);
  });

  test('of several members or frames is read whole, with data behind its end refused', async (t) => {
    const { server, target, get } = await setUp(t);
    const big = randomBytes(300_000).toString('hex');
    for (const [encoding, compress] of [
      ['gzip', gzipSync],
      ['zstd', zstdCompressSync],
    ] as const) {
      const whole = Buffer.concat([TEXT, big, TEXT].map((part) => compress(part)));
      const junk = Buffer.concat([compress(TEXT), Buffer.alloc(200_000)]);
      const answer = (path: string, body: Buffer, headers: Record<string, string>): void => {
        server.answers.set(path, (_, response) => {
          response.writeHead(200, headers).end(body);
        });
      };
      for (const headers of [{ 'content-encoding': encoding }, {}]) {
        answer('/whole', whole, headers as Record<string, string>);
        await get('/whole');
        assert.equal(readFileSync(target, 'utf8'), TEXT + big + TEXT);
        answer('/junk', junk, headers as Record<string, string>);
        await assert.rejects(get('/junk'), { message: /more data|damaged/ });
      }
    }
  });

  test('asks conditionally, and 304 is null', async (t) => {
    const { server, target, get } = await setUp(t);
    server.answers.set('/list', serve(TEXT, '"1"'));
    const lastModified = 'Mon, 01 Jan 2024 00:00:00 GMT';
    assert.equal(await get('/list', { etag: '"1"', lastModified }), null);
    assert.equal(server.requests[0]?.headers['if-none-match'], '"1"');
    assert.equal(server.requests[0].headers['if-modified-since'], lastModified);
    assert.equal(existsSync(target), false);
    server.answers.set('/odd', (_, response) => response.writeHead(304).end());
    await assert.rejects(get('/odd'), { code: 'LIST_UNREACHABLE', message: /status 304/ });
  });

  for (const [encoding, compress] of [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['zstd', zstdCompressSync],
    ['br', (text: Uint8Array | string) => brotliCompressSync(text, { params: FAST })],
  ] as const) {
    test(`decodes ${encoding}, bounds what comes out of it, and finds damage`, async (t) => {
      const { server, target, get } = await setUp(t);
      const answer = (path: string, body: Uint8Array): void => {
        server.answers.set(path, (_, response) => {
          response.writeHead(200, { 'content-encoding': encoding }).end(body);
        });
      };
      answer('/list', compress(TEXT));
      assert.equal((await get('/list'))?.bytes, TEXT.length);
      assert.equal(readFileSync(target, 'utf8'), TEXT);
      answer('/bomb', compress(Buffer.alloc(LIMITS.listBytesMax + 1, 0x61)));
      await assert.rejects(get('/bomb'), { code: 'LIST_REJECTED', message: /larger than 64 MiB/ });
      answer('/cut', compress(Buffer.from(TEXT.repeat(99))).subarray(0, 20));
      await assert.rejects(get('/cut'), { code: 'LIST_REJECTED', message: /truncated/ });
      answer('/damaged', Buffer.from('no compressed data at all, whatever the header says'));
      await assert.rejects(get('/damaged'), {
        code: 'LIST_REJECTED',
        message: /damaged|truncated/,
      });
      assert.equal(existsSync(target), false);
    });
  }

  for (const [kind, compress] of [
    ['gz', gzipSync],
    ['zst', zstdCompressSync],
  ] as const) {
    test(`is unpacked when it is a .${kind} file, whatever its headers say`, async (t) => {
      const { server, target, get } = await setUp(t);
      const packed = compress(TEXT);
      server.answers.set('/list', (_, response) => {
        response.writeHead(200, { 'content-type': 'text/plain' });
        // The mark comes in two pieces.
        response.write(packed.subarray(0, 2));
        setImmediate(() => response.end(packed.subarray(2)));
      });
      assert.equal((await get('/list'))?.bytes, TEXT.length);
      assert.equal(readFileSync(target, 'utf8'), TEXT);
      const answer = (path: string, body: Uint8Array, encoding: string): void => {
        server.answers.set(path, (_, response) => {
          response.writeHead(200, { 'content-encoding': encoding }).end(body);
        });
      };
      answer('/twice', gzipSync(packed), 'gzip');
      assert.equal((await get('/twice'))?.bytes, TEXT.length);
      answer('/bomb', compress(Buffer.alloc(LIMITS.listBytesMax + 1, 0x61)), 'identity');
      await assert.rejects(get('/bomb'), { code: 'LIST_REJECTED', message: /larger than 64 MiB/ });
      const more = Buffer.concat([packed, randomBytes(200_000)]);
      answer('/more', gzipSync(more), 'gzip');
      await assert.rejects(get('/more'), { message: /more data|damaged/ });
      const long = compress(Buffer.from(TEXT.repeat(99))).subarray(0, 20);
      answer('/cut', long, 'identity');
      await assert.rejects(get('/cut'), { code: 'LIST_REJECTED', message: /truncated|damaged/ });
      assert.equal(existsSync(target), false);
    });
  }

  test('is refused when too large, declared or not, and when cut short', async (t) => {
    const { server, target, get } = await setUp(t);
    server.answers.set('/declared', (_, response) => {
      response.writeHead(200, { 'content-length': LIMITS.listBytesMax + 1 });
      response.write('x');
    });
    await assert.rejects(get('/declared'), { code: 'LIST_REJECTED', message: /larger than/ });
    server.answers.set('/endless', (_, response) => {
      const chunk = Buffer.alloc(1024 * 1024, 0x61);
      const push = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', push);
      push();
    });
    await assert.rejects(get('/endless'), { code: 'LIST_REJECTED', message: /larger than/ });
    server.answers.set('/cut', (_, response) => {
      response.writeHead(200, { 'content-length': 1_000 });
      response.write(TEXT, () => response.destroy());
    });
    await assert.rejects(get('/cut'), { code: 'LIST_REJECTED', message: /truncated/ });
    assert.equal(existsSync(target), false);
  });

  test('fails with the status, the type, the encoding or the network as reason', async (t) => {
    const { server, get } = await setUp(t);
    const reply = (path: string, status: number, headers: Record<string, string>): void => {
      server.answers.set(path, (_, response) => response.writeHead(status, headers).end(TEXT));
    };
    reply('/image', 200, { 'content-type': 'image/png' });
    reply('/zip', 200, { 'content-type': 'application/zip' });
    reply('/compress', 200, { 'content-encoding': 'compress' });
    reply('/broken', 500, {});
    reply('/partial', 206, {});
    await assert.rejects(get('/image'), { code: 'LIST_REJECTED', message: /image\/png/ });
    await assert.rejects(get('/zip'), { code: 'LIST_REJECTED', message: /application\/zip/ });
    await assert.rejects(get('/compress'), {
      code: 'LIST_REJECTED',
      message: /encoded as "compress"/,
    });
    await assert.rejects(get('/broken'), { code: 'LIST_UNREACHABLE', message: /status 500/ });
    await assert.rejects(get('/partial'), { code: 'LIST_UNREACHABLE', message: /status 206/ });
    await assert.rejects(get('/none'), { code: 'LIST_UNREACHABLE', message: /status 404/ });
    await server.close();
    await assert.rejects(get('/list'), { code: 'LIST_UNREACHABLE', message: /ECONNREFUSED/ });
    const lookup = fixedLookup({});
    await assert.rejects(get('http://lists.example/', { lookup }), /does not exist/);
  });

  test('ends when its time is over or when it is stopped', async (t) => {
    const { server, get } = await setUp(t);
    let asked = (): void => undefined;
    server.answers.set('/slow', (_, response) => {
      response.writeHead(200).write(TEXT);
      asked();
    });
    await assert.rejects(get('/slow', { timeMs: 100 }), {
      code: 'LIST_UNREACHABLE',
      message: /not complete after 0.1 s/,
    });
    const stop = new AbortController();
    asked = () => {
      stop.abort();
    };
    await assert.rejects(get('/slow', { signal: stop.signal }), /stopped/);
  });
});

describe('redirects', () => {
  function redirect(server: ListServer, from: string, to: string): void {
    server.answers.set(from, (_, response) => response.writeHead(302, { location: to }).end());
  }

  test('are followed five times, relative ones too, and not for ever', async (t) => {
    const { server, get } = await setUp(t);
    server.answers.set('/list', serve(TEXT));
    for (let hop = 1; hop <= 6; hop++)
      redirect(server, `/${hop}`, hop === 1 ? 'list' : `/${hop - 1}`);
    redirect(server, '/loop', '/loop');
    assert.equal((await get('/5'))?.bytes, TEXT.length);
    await assert.rejects(get('/6'), { code: 'LIST_REJECTED', message: /more than 5 redirects/ });
    const before = server.requests.length;
    await assert.rejects(get('/loop'), { code: 'LIST_REJECTED', message: /more than 5 redirects/ });
    assert.equal(server.requests.length - before, 6);
  });

  test('lead to http and https only', async (t) => {
    const { server, get } = await setUp(t);
    for (const to of ['file:///etc/passwd', 'ftp://a.example/', 'data:text/plain,x']) {
      redirect(server, '/away', to);
      await assert.rejects(get('/away'), {
        code: 'LIST_REJECTED',
        message: /redirect from http: to/,
      });
    }
    redirect(server, '/away', 'http://[');
    await assert.rejects(get('/away'), { code: 'LIST_REJECTED', message: /is no URL/ });
  });

  test('from another host never lead to this machine or a private network', async (t) => {
    const { server, get } = await setUp(t);
    server.answers.set('/secret', serve(TEXT));
    // 127.0.0.1 is the configured host here, and so allowed; everything else must be public.
    const privateNames = { 'inside.example': '192.168.0.1', 'mapped.example': '::ffff:10.0.0.1' };
    for (const to of [
      `http://127.0.0.2:${server.port}/secret`,
      `http://localhost:${server.port}/secret`,
      `http://0x7f.2:${server.port}/secret`,
      `http://[::1]:${server.port}/secret`,
      `http://[::ffff:127.0.0.2]:${server.port}/secret`,
      'http://169.254.169.254/latest/meta-data',
      'http://10.1.2.3/',
      'http://[fd00::1]/',
      'http://inside.example/',
      'http://mapped.example/',
    ]) {
      redirect(server, '/list', to);
      const configured = `${server.origin}/list`;
      await assert.rejects(
        get(configured, { lookup: fixedLookup(privateNames) }),
        { code: 'LIST_REJECTED', message: /not a public address/ },
        to,
      );
    }
    assert.ok(server.requests.every(({ url }) => url === '/list'));
  });

  test('to the configured host itself are fine, wherever it is', async (t) => {
    const { server, get } = await setUp(t);
    server.answers.set('/list', serve(TEXT));
    redirect(server, '/moved', `http://localhost:${server.port}/list`);
    assert.equal((await get(`http://localhost:${server.port}/moved`))?.bytes, TEXT.length);
  });

  test('a configured name that resolves to this machine is refused', async (t) => {
    const { server, get } = await setUp(t);
    server.answers.set('/list', serve(TEXT));
    const lookup = fixedLookup({ 'rebound.example': '127.0.0.1' });
    await assert.rejects(get(`http://rebound.example:${server.port}/list`, { lookup }), {
      code: 'LIST_REJECTED',
      message: /rebound.example \(127.0.0.1\) refused/,
    });
  });
});

describe('a list server whose name turns private', () => {
  /** Two servers of one port, one of which counts as public. */
  async function twoServers(t: TestContext) {
    const { server: inside, get } = await setUp(t);
    const outside = await listServer(t, '127.0.0.2', inside.port);
    const isPublicAddress = (address: string): boolean => address === '127.0.0.2';
    const origin = `http://list.example:${String(inside.port)}`;
    inside.answers.set('/reboot', serve(TEXT));
    outside.answers.set('/list', (_, response) => {
      response.writeHead(302, { location: '/reboot' }).end();
    });
    outside.answers.set('/plain', serve(TEXT));
    /** The addresses of the name, one for each time that it is asked for. */
    const ask = (
      path: string,
      addresses: readonly string[],
      more: Partial<DownloadRequest> = {},
    ) => {
      const left = [...addresses];
      const lookup: DownloadRequest['lookup'] = (host, options, callback) => {
        fixedLookup({ [host]: left.shift() ?? '' })(host, options, callback);
      };
      return get(origin + path, { lookup, isPublicAddress, ...more });
    };
    return { inside, outside, ask };
  }

  test('between two hops reaches nothing, and is told', async (t) => {
    const { inside, ask } = await twoServers(t);
    for (const second of ['127.0.0.1', '192.168.1.1', '::ffff:127.0.0.1']) {
      await assert.rejects(ask('/list', ['127.0.0.2', second]), {
        code: 'LIST_REJECTED',
        message: new RegExp(`list.example \\(${second}\\) refused: not a public address`),
      });
    }
    assert.deepEqual(inside.requests, []);
  });

  test('after a copy came from a public address reaches nothing', async (t) => {
    const { inside, ask } = await twoServers(t);
    assert.equal((await ask('/plain', ['127.0.0.2']))?.isFromPublic, true);
    await assert.rejects(ask('/reboot', ['10.0.0.1'], { publicOnly: true }), {
      message: /10\.0\.0\.1.*not a public address/,
    });
    assert.deepEqual(inside.requests, []);
  });

  test('a name of a private network is asked there, and redirects stay on that server', async (t) => {
    const { server, get } = await setUp(t);
    server.answers.set('/list', serve(TEXT));
    server.answers.set('/moved', (_, response) => {
      response.writeHead(302, { location: '/list' }).end();
    });
    assert.equal((await get('/moved'))?.isFromPublic, false);
    const other = await listServer(t);
    other.answers.set('/list', serve(TEXT));
    server.answers.set('/moved', (_, response) => {
      response.writeHead(302, { location: `${other.origin}/list` }).end();
    });
    await assert.rejects(get('/moved'), { message: /not a public address/ });
    assert.deepEqual(other.requests, []);
  });
});

test('name and password go to the server of the URL only', async (t) => {
  const { server, get } = await setUp(t);
  const other = await listServer(t, '127.0.0.2');
  other.answers.set('/list', serve(TEXT));
  server.answers.set('/here', (_, response) => {
    response.writeHead(302, { location: '/away' }).end();
  });
  server.answers.set('/away', (_, response) => {
    const location = `http://me:other@127.0.0.2:${String(other.port)}/list`;
    response.writeHead(302, { location, 'set-cookie': 'a=b' }).end();
  });
  const url = `http://me:secret@127.0.0.1:${String(server.port)}/here`;
  await get(url, { isPublicAddress: (address) => address === '127.0.0.2' });
  const basic = `Basic ${Buffer.from('me:secret').toString('base64')}`;
  assert.deepEqual(
    server.requests.map(({ headers }) => headers.authorization),
    [basic, basic],
  );
  const [asked] = other.requests;
  assert.deepEqual([asked?.headers.authorization, asked?.headers.cookie], [undefined, undefined]);
});

test('the request names no more than needed', async (t) => {
  const { server, get } = await setUp(t);
  server.answers.set('/list', serve(TEXT));
  await get('/list');
  const { headers } = server.requests[0] as { headers: IncomingMessage['headers'] };
  assert.deepEqual(Object.keys(headers).sort(), [
    'accept',
    'accept-encoding',
    'connection',
    'host',
    'user-agent',
  ]);
});

test('public addresses are told from all others', () => {
  for (const address of ['9.9.9.9', '172.32.0.1', '2620:fe::fe', '::ffff:9.9.9.9']) {
    assert.equal(isPublicAddress(address), true, address);
  }
  for (const address of [
    ...['0.0.0.0', '10.0.0.1', '100.64.0.1', '127.0.0.1', '169.254.1.1', '172.16.0.1'],
    ...['192.168.1.1', '198.18.0.1', '224.0.0.1', '255.255.255.255', '::', '::1', 'fe80::1'],
    ...['fe80::1%eth0', 'fc00::1', 'ff02::1', '64:ff9b::a00:1', '::ffff:192.168.0.1', 'x', ''],
  ]) {
    assert.equal(isPublicAddress(address), false, address);
  }
});
